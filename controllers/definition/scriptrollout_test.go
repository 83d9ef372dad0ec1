package definition

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/record"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestApprovalsInStatus checks that what a preview says of an approval does not take the place of what a rollout says: a revision that failed
// would be tried again for ever, or never again.
func TestApprovalsInStatus(t *testing.T) {
	for name, c := range map[string]struct {
		reason                  string
		managed                 bool
		stored, preview, decide string
		want                    string
	}{
		"no rollout":  {"The preview's approval is remembered.", false, "", "B", "", "B"},
		"tried again": {"The status had no approval, and has the one that tries it again now.", true, "", "", "B", "B"},
		"used up":     {"The annotation is gone, so that the next one counts, although the preview still tells of the first one.", true, "B", "B", "", ""},
		"unchanged":   {"It stays.", true, "B", "", "B", "B"},
	} {
		t.Run(name, func(t *testing.T) {
			view := statusView{newest: newestView{state: scripts.State{Approved: scripts.RevisionID(c.preview), Loaded: "B"}}}
			view.rollout = rollout.Progress{Managed: c.managed, Next: rollout.State{StableRevision: "A", ApprovedRevision: c.decide}}
			stored := &v1alpha1.ScriptRolloutStatus{StableRevision: "A", ApprovedRevision: c.stored}
			got := view.rollout.Merge(scriptRolloutStatus(stored, view))
			if got == nil || got.ApprovedRevision != c.want {
				t.Errorf("%s\ngot %+v, want approved revision %q", c.reason, got, c.want)
			}
		})
	}
}

// TestWaitingStep tells which parent a step waits for, since when and until when, in the condition alone and not more often than all else that is
// said of parents.
func TestWaitingStep(t *testing.T) {
	begin := time.Unix(1000, 0)
	s := &runtimeState{}
	recorder := record.NewFakeRecorder(10)
	r := &Reconciler{config: Config{Environment: parent.Environment{Events: parent.Recorders{Rollouts: recorder}}}}
	for i, step := range []struct {
		reason  string
		after   time.Duration
		waiting string
		want    time.Duration
	}{
		{"the step begins", 0, "", 0},
		{"it waits for a parent", 0, "Thing d/a: has not been synced by it", 0},
		{"it waits for another one", time.Second, "Thing d/b: its children have just been written", 4 * time.Second},
		{"the same goes on", 6 * time.Second, "Thing d/b: its children have just been written", 0},
		{"and on", 7 * time.Second, "Thing d/b: its children have just been written", 0},
	} {
		result := rollout.Result{Waiting: step.waiting, Since: begin, Deadline: begin.Add(10 * time.Minute)}
		view := ready(metav1.ConditionTrue, "Running")
		view.running.parents = status.Parents{Summary: &parent.Summary{}}
		view.rollout = rollout.Progress{
			Managed: true, Waiting: rollout.WaitingText(result), Next: rollout.State{
				Phase: v1alpha1.ScriptsProgressing, StableRevision: "A", UpdatedRevision: "B", Step: new(int32(1)), Steps: new(int32(2)),
			},
		}
		object := definitionWith(t, "1", 1, s.status)
		c, _ := view.rollout.WaitingCondition(object, "")
		view.conditions = append(view.conditions, c)
		r.sendRolloutEvents(object, s, view)
		next := s.statusOf(object, view)
		if got := s.parentsDelay(next, begin.Add(step.after)); got != step.want {
			t.Errorf("step %d: %s: %s, want %s", i, step.reason, got, step.want)
		} else if got == 0 {
			s.status = &next
		}
	}
	c := meta.FindStatusCondition(s.status.Conditions, v1alpha1.ConditionProgressing)
	const want = "\nit waits since 1970-01-01T00:16:40Z for Thing d/b: its children have just been written; " +
		"the edit counts as failed if it has not gone well by 1970-01-01T00:26:40Z"
	if c == nil || !strings.HasSuffix(c.Message, want) {
		t.Errorf("the condition is %+v, want %q at its end", c, want)
	}
	if len(recorder.Events) != 1 {
		t.Errorf("%d events, want only one about the step", len(recorder.Events))
	}
}
