package status

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

func reportOn(name, reason, message string) parent.Health {
	return parent.Health{
		Parent: controller.Key{Kind: schema.GroupVersionKind{Kind: "Thing"}, Namespace: "x", Name: name},
		Reason: reason, Message: message, Since: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC),
	}
}

func TestParentsCondition(t *testing.T) {
	a, b := reportOn("a", "HookFailed", "HookFailed: sync hook: sync.js:3:7: boom"), reportOn("b", "ApplyFailed", "ApplyFailed: forbidden")
	for name, c := range map[string]struct {
		reason  string
		summary *parent.Summary
		keep    bool
		want    metav1.Condition
	}{
		"NotRunning": {"without a running instance nothing is known", nil, false,
			metav1.Condition{Status: "Unknown", Reason: "NotRunning", Message: "no parent is synced: see the condition Ready"}},
		"Listing": {"nor does a list of them that is not there yet", nil, true,
			metav1.Condition{Status: "Unknown", Reason: "Syncing", Message: "parents are being synced for the first time since the start"}},
		"First": {"half of the first syncs say nothing", &parent.Summary{Parents: 2, Failing: 1, Pending: 1, Failures: []parent.Health{a}, Sweeping: true}, true,
			metav1.Condition{Status: "Unknown", Reason: "Syncing", Message: "parents are being synced for the first time since the start"}},
		"Long": {"when they take long, it is not known whether the others fail", &parent.Summary{Parents: 2, Synced: 1, Pending: 1, Sweeping: true}, false,
			metav1.Condition{Status: "Unknown", Reason: "Syncing", Message: "not all parents have been synced since the start"}},
		"LongFailing": {"but a failure is one", &parent.Summary{Parents: 2, Failing: 1, Pending: 1, Failures: []parent.Health{b}, Ways: 1, Sweeping: true}, false,
			metav1.Condition{Status: "False", Reason: "ApplyFailed", Message: "1 of 2 parents fail: Thing x/b: ApplyFailed: forbidden (since 2026-01-02T03:04:05Z)"}},
		"None": {"no parents do not fail", &parent.Summary{}, false,
			metav1.Condition{Status: "True", Reason: "NoParents", Message: "there are no parents"}},
		"Synced": {"numbers are not in the message, so that new parents cost no write", &parent.Summary{Parents: 7, Synced: 7}, false,
			metav1.Condition{Status: "True", Reason: "Synced", Message: "the last syncs of all parents succeeded"}},
		"New": {"a parent that was just created does not make it Unknown", &parent.Summary{Parents: 7, Synced: 6, Pending: 1}, false,
			metav1.Condition{Status: "True", Reason: "Synced", Message: "the last syncs of all parents succeeded"}},
		"Waiting": {"a hook that waits does not fail", &parent.Summary{Parents: 7, Waiting: 1, Waits: []parent.Health{reportOn("a", "Late", "Late: no Secret")}}, false,
			metav1.Condition{Status: "True", Reason: "Waiting", Message: "no parent fails, and 1 of 7 wait: Thing x/a: Late: no Secret (since 2026-01-02T03:04:05Z)"}},
		"One": {"the only parent", &parent.Summary{Parents: 1, Failing: 1, Failures: []parent.Health{a}, Ways: 1}, false,
			metav1.Condition{Status: "False", Reason: "HookFailed", Message: "1 of 1 parent fails: Thing x/a: HookFailed: sync hook: sync.js:3:7: boom (since 2026-01-02T03:04:05Z)"}},
		"Many": {"the first line is what kubectl get shows; the first reason is the condition's", &parent.Summary{
			Parents: 1000, Failing: 900, Waiting: 100, Failures: []parent.Health{b, a, a}, Ways: 5}, false,
			metav1.Condition{Status: "False", Reason: "ApplyFailed", Message: "900 of 1000 parents fail in 5 ways: Thing x/b: ApplyFailed: forbidden (since 2026-01-02T03:04:05Z)\n" +
				"Thing x/a: HookFailed: sync hook: sync.js:3:7: boom (since 2026-01-02T03:04:05Z)\n" +
				"Thing x/a: HookFailed: sync hook: sync.js:3:7: boom (since 2026-01-02T03:04:05Z)\nand 897 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.want.Type, c.want.ObservedGeneration = v1alpha1.ConditionParentsSynced, 4
			got := Parents{Summary: c.summary, Keep: c.keep, Generation: 4}.condition()
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestParentsInStatus checks what a status says of parents from a start on: what an earlier process has written stays until the parents are
// synced, and goes when nothing runs.
func TestParentsInStatus(t *testing.T) {
	status := &v1alpha1.DefinitionStatus{}
	text := func() string {
		c := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionParentsSynced)
		counts := ""
		for _, count := range []*int32{status.Parents, status.SyncedParents, status.FailingParents, status.WaitingParents, status.FailingInputs} {
			if counts += " "; count == nil {
				counts += "-"
			} else {
				counts += string('0' + *count)
			}
		}
		return string(c.Status) + " " + c.Reason + counts
	}
	failing := &parent.Summary{Parents: 3, Synced: 1, Failing: 2, FailingInputs: 4, Failures: []parent.Health{reportOn("a", "HookFailed", "m")}}
	for i, step := range []struct {
		reason string
		status Parents
		want   string
	}{
		{"nothing runs yet", Parents{}, "Unknown NotRunning - - - - -"},
		{"the parents are being listed", Parents{Keep: true}, "Unknown Syncing - - - - -"},
		{"the first syncs", Parents{Summary: &parent.Summary{Parents: 3}, Keep: true}, "Unknown Syncing 3 - - - -"},
		{"are over", Parents{Summary: failing}, "False HookFailed 3 1 2 0 -"},
		{"another process lists them, which takes longer than a second", Parents{Keep: true}, "False HookFailed - 1 2 0 -"},
		{"another process starts", Parents{Summary: &parent.Summary{Parents: 2, Pending: 2}, Keep: true}, "False HookFailed 2 1 2 0 -"},
		{"and finds the same", Parents{Summary: failing}, "False HookFailed 3 1 2 0 -"},
		{"a map counts inputs", Parents{Summary: failing, IsMap: true}, "False HookFailed 3 1 2 0 4"},
		{"they can't be listed", Parents{}, "Unknown NotRunning - - - - -"},
		{"they can again", Parents{Summary: failing}, "False HookFailed 3 1 2 0 -"},
		{"it stops", Parents{}, "Unknown NotRunning - - - - -"},
	} {
		step.status.Set(status)
		if got := text(); got != step.want {
			t.Errorf("step %d: %s: %s, want %s", i, step.reason, got, step.want)
		}
	}
}
