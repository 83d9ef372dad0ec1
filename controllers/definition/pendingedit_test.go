package definition

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestPendingEdit checks which of Stalled and Reconciling an edit has, and what Ready is then.
func TestPendingEdit(t *testing.T) {
	const running, spec = "True Running: parents are synced", "False EarlierSpecServes: m"
	synced := func(status, reason string) string {
		return status + " " + reason + ": parents are synced, but not all of them by the newest edit\nm"
	}
	held := &v1alpha1.DefinitionStatus{Conditions: []metav1.Condition{{Type: "Progressing", Status: "False", Reason: "Held", Message: "m"}}}
	inPhase := func(phase v1alpha1.ScriptRolloutPhase) rollout.Progress {
		return rollout.Progress{Managed: true, Next: rollout.State{
			Phase: phase, StableRevision: "A", UpdatedRevision: "B", Step: new(int32(1)), Steps: new(int32(2)), StartedAt: &metav1.Time{},
		}}
	}
	for name, c := range map[string]struct {
		reason      string
		refusal     *plan.Refusal
		scripts     string // status and reason of ScriptsReady
		progressing string
		stored      *v1alpha1.DefinitionStatus
		rollout     rollout.Progress
		next        bool
		previewing  scripts.RevisionID
		ready       string
		want        []string
	}{
		"serving":        {reason: "There is no edit.", want: []string{"", running}},
		"never held":     {reason: "Nor if one was held before.", progressing: "True Serving", want: []string{"", running}},
		"held":           {reason: "It waits for someone.", progressing: "False Held", want: []string{"Stalled Held", synced("False", "Held")}},
		"held, archived": {reason: "ScriptsReady has the reason too.", scripts: "True Held", progressing: "False Held", want: []string{"Stalled Held", synced("False", "Held")}},
		"previewed again": {
			reason: "What is stored of it counts until its preview has ended: a restart is no way out.", stored: held, want: []string{"Stalled Held", synced("False", "Held")},
		},
		"previewed again, with steps": {
			reason: "The rollout does not know of it.", rollout: inPhase(v1alpha1.ScriptsComplete), stored: held, previewing: "b",
			want: []string{"Stalled Held", synced("False", "Held")},
		},
		"does not load": {reason: "It waits for someone.", scripts: "False ScriptInvalid", want: []string{"Stalled ScriptInvalid", synced("False", "ScriptInvalid")}},
		"tests fail":    {reason: "So does this.", scripts: "False TestsFailed", want: []string{"Stalled TestsFailed", synced("False", "TestsFailed")}},
		"a broken text after one that is held": {
			reason: "The newest one counts.", scripts: "False ScriptInvalid", stored: held, want: []string{"Stalled ScriptInvalid", synced("False", "ScriptInvalid")},
		},
		"a missing source": {reason: "It may come.", scripts: "False ScriptSourceMissing", want: []string{"Reconciling ScriptSourceMissing", synced("Unknown", "ScriptSourceMissing")}},
		"tests run":        {reason: "It is on its way.", scripts: "Unknown Testing", stored: held, want: []string{"Reconciling Testing", synced("Unknown", "Testing")}},
		"previewed":        {reason: "So is this.", progressing: "True Previewing", want: []string{"Reconciling Previewing", synced("Unknown", "Previewing")}},
		"steps": {
			reason: "A step is no end.", rollout: inPhase(v1alpha1.ScriptsProgressing),
			want: []string{"Reconciling RollingOut", "Unknown RollingOut: parents are synced, but not all of them by the newest edit\n" +
				"revision B is rolled out: step 1 of 2; other parents keep revision A"},
		},
		"paused": {
			reason: "It goes on when someone wants it to.", rollout: inPhase(v1alpha1.ScriptsPaused),
			want: []string{"Reconciling Paused", "Unknown Paused: parents are synced, but not all of them by the newest edit\n" +
				"spec.scriptRollout.paused keeps every parent at its revision: A, and B after step 1 of 2"},
		},
		"pinned": {
			reason: "The spec says what serves.", rollout: rollout.Progress{Managed: true, Pinned: true, Sources: "m"}, scripts: "False ScriptInvalid",
			want: []string{"", running},
		},
		"pinned, and not archived": {
			reason:  "It does not serve.",
			rollout: rollout.Progress{Managed: true, Pinned: true, Problem: "m"}, want: []string{"Stalled RevisionUnavailable", synced("False", "RevisionUnavailable")},
		},
		"an invalid spec":     {reason: "Ready says it already.", refusal: &plan.Refusal{Reason: plan.ReasonInvalid, Err: errors.New("m")}, ready: spec, want: []string{"Stalled Invalid", spec}},
		"a missing resource":  {reason: "It may come.", refusal: &plan.Refusal{Reason: plan.ReasonResourceNotFound, Err: errors.New("m")}, ready: spec, want: []string{"Reconciling ResourceNotFound", spec}},
		"a spec that is next": {reason: "It is on its way.", next: true, ready: spec, want: []string{"Reconciling EarlierSpecServes", spec}},
	} {
		t.Run(name, func(t *testing.T) {
			condition := func(kind, text string) metav1.Condition {
				status, reason := text, "Loaded"
				for i, r := range text {
					if r == ' ' {
						status, reason = text[:i], text[i+1:]
					}
				}
				return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, Message: "m"}
			}
			if c.scripts == "" {
				c.scripts = "True Loaded"
			}
			v := statusView{rollout: c.rollout, conditions: []metav1.Condition{acceptedCondition(c.refusal), condition("ScriptsReady", c.scripts)}}
			v.newest.state.Previewing = c.previewing
			if c.progressing != "" {
				v.conditions = append(v.conditions, condition("Progressing", c.progressing))
			}
			s := &runtimeState{object: definitionWith(t, "1", 2, c.stored)}
			if c.next {
				s.next = &instance{}
			}
			ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: reasonRunning, Message: "parents are synced"}
			if c.ready == spec {
				ready = metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: reasonEarlierSpec, Message: "m"}
			}
			edit := editCondition(s, c.refusal, v)
			ready = withPendingEdit(ready, edit)
			got := []string{"", string(ready.Status) + " " + ready.Reason + ": " + ready.Message}
			if edit.Type != "" {
				got[0] = edit.Type + " " + edit.Reason
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}

// TestPendingEditInStatus checks that neither condition is there once there is no such edit, and that a warning is reported beside it.
func TestPendingEditInStatus(t *testing.T) {
	status := v1alpha1.DefinitionStatus{ObservedGeneration: 3}
	for _, c := range []struct {
		kind string
		want []string
	}{{"Stalled", []string{"Stalled"}}, {"Reconciling", []string{"Reconciling"}}, {"", nil}} {
		edit := metav1.Condition{Type: c.kind, Status: metav1.ConditionTrue, Reason: "Held", Message: "m"}
		setPendingEdit(&status, edit)
		var got []string
		for _, condition := range status.Conditions {
			got = append(got, condition.Type)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", c.kind, diff)
		}
		if set := meta.FindStatusCondition(status.Conditions, c.kind); set != nil && set.ObservedGeneration != 3 {
			t.Errorf("%+v is of another generation", set)
		}
	}
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: "NoStatusChecks", Message: "w"}
	ready = withPendingEdit(ready, metav1.Condition{Type: "Stalled", Reason: "Held", Message: "m"})
	if want := "parents are synced, but not all of them by the newest edit\nm\nw"; ready.Message != want {
		t.Errorf("message %q, want %q", ready.Message, want)
	}
}
