package rollout

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// TestRolloutCondition checks what is said of edits that wait for someone, and of a text that waits behind another one.
func TestRolloutCondition(t *testing.T) {
	began := metav1.Unix(60, 0)
	state := func(phase v1alpha1.ScriptRolloutPhase, message string) State {
		return State{
			Phase: phase, StableRevision: "A", UpdatedRevision: "B", Step: new(int32(1)), Steps: new(int32(3)), StartedAt: &began, Message: message,
		}
	}
	object := &unstructured.Unstructured{Object: map[string]any{"kind": v1alpha1.CompositeControllerKind, "metadata": map[string]any{"name": "d"}}}
	for name, c := range map[string]struct {
		next   State
		target string
		want   string
	}{
		"paused":                            {state(v1alpha1.ScriptsPaused, ""), "B", "True Paused spec.scriptRollout.paused keeps every parent at its revision: A, and B after step 1 of 3"},
		"paused, and a third text waits":    {state(v1alpha1.ScriptsPaused, ""), "C", "True Paused spec.scriptRollout.paused keeps every parent at its revision: A, and B after step 1 of 3; revision C, which the scripts hold by now, waits"},
		"paused, and the text is the first": {state(v1alpha1.ScriptsPaused, ""), "A", "True Paused spec.scriptRollout.paused keeps every parent at its revision: A, and B after step 1 of 3"},
		"paused before": {
			State{Phase: v1alpha1.ScriptsPaused, StableRevision: "A"}, "C",
			"True Paused spec.scriptRollout.paused keeps every parent at its revision: A; revision C, which the scripts hold by now, waits",
		},
		"no parent has the labels": {
			state(v1alpha1.ScriptsProgressing, "no parent has labels"), "B",
			"False StepMatchesNoParent revision B has stopped at step 1 of 3: no parent has labels\n" +
				"correct the selector or the labels, or go on to the next step: libretto rollout promote compositecontroller/d, " +
				`or kubectl annotate --overwrite compositecontroller d metacontroller.k8s.io/rollout-request="promote B 1 1970-01-01T00:01:00Z"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			condition, _ := Progress{Managed: true, Next: c.next, Target: c.target}.Condition(object, "")
			if got := string(condition.Status) + " " + condition.Reason + " " + condition.Message; got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}
