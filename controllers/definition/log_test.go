package definition

import (
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestLogOfDefinitions checks what the log has of a definition: scripts that were loaded, were not, or are held back, and what needs
// attention, each once.
func TestLogOfDefinitions(t *testing.T) {
	var lines []string
	log := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{})
	r := &Reconciler{config: Config{Environment: parent.Environment{
		Log:    log,
		Clock:  clocktesting.NewFakeClock(time.Unix(0, 0)),
		Events: parent.Recorders{Rare: record.NewFakeRecorder(100), Rollouts: record.NewFakeRecorder(100)},
	}}}
	object, s := &unstructured.Unstructured{Object: map[string]any{
		"kind": v1alpha1.CompositeControllerKind, "metadata": map[string]any{"name": "boxes"},
		"status": map[string]any{"parents": int64(1)},
	}}, &runtimeState{}
	broken := scripts.State{Loaded: "r1", Desired: "r2", Problems: []scripts.Problem{{Origin: scripts.Origin{Hook: "sync"}, Err: errors.New("boom")}}}
	for _, step := range []struct {
		reason  string
		view    statusView
		refusal *plan.Refusal
		want    []string
	}{
		{"The first scripts.", statusView{running: runningView{revision: "r1"}, newest: newestView{state: scripts.State{Loaded: "r1", Desired: "r1", Tested: "3 tests passed"}}}, nil,
			[]string{`"level"=0 "msg"="scripts loaded" "definition"="CompositeController boxes" "revision"="r1" "tests"="3 tests passed"`}},
		{"An edit does not load.", statusView{running: runningView{revision: "r1"}, newest: newestView{state: broken}}, nil, []string{
			`"msg"="scripts did not load" "error"=null "definition"="CompositeController boxes" "reason"="ScriptSourceUnreadable" "problems"="hook sync: boom" "serves"="r1"`}},
		{"Nothing has changed.", statusView{running: runningView{revision: "r1"}, newest: newestView{state: broken}}, nil, nil},
		{"It is taken back.", statusView{running: runningView{revision: "r1"}}, nil,
			[]string{`"level"=0 "msg"="scripts loaded" "definition"="CompositeController boxes" "revision"="r1"`}},
		{"An edit is held.", statusView{
			running: runningView{revision: "r1"}, hold: holdView{why: "held: it would delete"},
			newest: newestView{state: scripts.State{Loaded: "r1", Desired: "r3", Held: "it would delete"}},
		}, nil, []string{`"msg"="scripts are held because of what they would do" "error"=null "definition"="CompositeController boxes" "revision"="r3" ` +
			`"serves"="r1" "reason"="it would delete" "approve"="libretto rollout approve compositecontroller/boxes"`}},
		{"The spec is refused.", statusView{running: runningView{revision: "r1"}}, &plan.Refusal{Reason: plan.ReasonInvalid, Err: errors.New("no things")}, []string{
			`"level"=-1 "msg"="definition needs attention" "definition"="CompositeController boxes" "reason"="CreateError" "message"="no things"`}},
		{"It still is.", statusView{running: runningView{revision: "r1"}}, &plan.Refusal{Reason: plan.ReasonInvalid, Err: errors.New("no things")}, nil},
		{"A warning.", statusView{running: runningView{revision: "r1"}, warnings: []plan.Warning{{Reason: plan.ReasonInvalidLogLevel, Message: "none"}}}, nil, []string{
			`"level"=-1 "msg"="definition needs attention" "definition"="CompositeController boxes" "reason"="InvalidLogLevel" "message"="none"`}},
	} {
		lines = nil
		view := step.view
		view.conditions = append(view.conditions, acceptedCondition(step.refusal))
		r.sendEvents(object, s, view)
		if diff := cmp.Diff(step.want, lines); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
}
