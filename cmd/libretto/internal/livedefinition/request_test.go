package livedefinition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestRequest promotes and aborts what is rolled out, and says what to do about what is not.
func TestRequest(t *testing.T) {
	a, b := idOf("a"), idOf("b")
	rollout := func(phase, more string) string {
		return "}\nstatus: {parents: 20, scriptRollout: {phase: " + phase + ", stableRevision: " + a + ", updatedRevision: " + b +
			", step: 2, steps: 3, startedAt: \"2026-01-01T00:00:00Z\"" + more + "}}"
	}
	paused := func(text string) string {
		return strings.Replace(text, "}\n", "}\nspec: {scriptRollout: {paused: true}}\n", 1)
	}
	asked := func(action, step string) string {
		return `{"metadata":{"annotations":{"metacontroller.k8s.io/rollout-request":"` + action + " " + b + " " + step + ` 2026-01-01T00:00:00Z"}}}`
	}
	const hello = "CompositeController hello: "
	back := []string{
		"all parents get revision aaaaaaaaaaaaaaaa back",
		"it is not tried again before another edit has taken its place, or it is approved: libretto rollout approve compositecontroller/hello",
	}
	for name, c := range map[string]struct {
		before, now string
		action      string
		patch       string
		done, err   string
		notes       []string
	}{
		"promote": {rollout("Progressing", ""), "", "promote", asked("promote", "2"), hello + "revision bbbbbbbbbbbbbbbb is promoted past step 2 of 3", "",
			[]string{"step 3 begins now, whatever step 2 waits for; a parent that fails because of the edit counts as before"}},
		"promote the last step": {strings.Replace(rollout("Progressing", ""), "step: 2", "step: 3", 1), "", "promote", asked("promote", "3"),
			hello + "revision bbbbbbbbbbbbbbbb is promoted past step 3 of 3", "", []string{"all 20 parents get it now"}},
		"promote fully": {rollout("Progressing", ""), "", "promote-full", asked("promote-full", "2"), hello + "revision bbbbbbbbbbbbbbbb is promoted past all 3 steps", "",
			[]string{"all 20 parents get it now"}},
		"promote while counters change": {rollout("Progressing", ", updatedParents: 1"), rollout("Progressing", ", updatedParents: 2"), "promote", asked("promote", "2"),
			hello + "revision bbbbbbbbbbbbbbbb is promoted past step 2 of 3", "", []string{"step 3 begins now, whatever step 2 waits for; a parent that fails because of the edit counts as before"}},
		"promote when the next step has begun": {rollout("Progressing", ""), strings.Replace(rollout("Progressing", ""), "step: 2", "step: 3", 1), "promote", "", "",
			hello + "while this was written, the rollout went on: look at it with libretto rollout status compositecontroller/hello", nil},
		"abort when another edit has begun": {rollout("Progressing", ""), strings.ReplaceAll(rollout("Progressing", ""), b, idOf("c")), "abort", "", "",
			hello + "while this was written, the rollout went on: look at it with libretto rollout status compositecontroller/hello", nil},
		"abort":                 {rollout("Progressing", ""), "", "abort", asked("abort", "2"), hello + "revision bbbbbbbbbbbbbbbb is aborted at step 2 of 3", "", back},
		"abort what is held":    {rollout("Held", ""), "", "abort", asked("abort", "2"), hello + "revision bbbbbbbbbbbbbbbb is aborted at step 2 of 3", "", back},
		"abort while it pauses": {paused(rollout("Paused", "")), "", "abort", asked("abort", "2"), hello + "revision bbbbbbbbbbbbbbbb is aborted at step 2 of 3", "", back},
		"abort twice": {strings.Replace(rollout("Progressing", ""), "}\n", ", annotations: {metacontroller.k8s.io/rollout-request: \"abort "+b+" 2 2026-01-01T00:00:00Z\"}}\n", 1), "",
			"abort", "", hello + "revision bbbbbbbbbbbbbbbb is aborted at step 2 of 3 already", "", back},
		"promote while it pauses": {paused(rollout("Paused", "")), "", "promote", "", "",
			hello + "it is paused: go on with libretto rollout resume compositecontroller/hello first", nil},
		"promote what a step holds": {rollout("Held", ", message: Thing a/b fails"), "", "promote-full", "", "",
			hello + "revision bbbbbbbbbbbbbbbb does not go well: Thing a/b fails: let it through to all parents with libretto rollout approve compositecontroller/hello", nil},
		"promote what a preview holds": {"}\nstatus: {scriptRollout: {heldRevision: " + b + "}}", "", "promote", "", "",
			hello + "revision bbbbbbbbbbbbbbbb is held before a parent has it: let it through with libretto rollout approve compositecontroller/hello", nil},
		"promote nothing": {"}", "", "promote", "", "", hello + "no edit is rolled out in steps: there is nothing to promote", nil},
		"abort nothing": {"}", "", "abort", "", "",
			hello + "no edit is rolled out in steps: go back to what served before with libretto rollback compositecontroller/hello", nil},
		"abort a pin": {"}\nspec: {scriptRollout: {revision: " + a + "}}", "", "abort", "", "",
			hello + "revision aaaaaaaaaaaaaaaa is pinned, and no edit is rolled out: libretto rollback compositecontroller/hello --unpin", nil},
	} {
		t.Run(name, func(t *testing.T) {
			first := definitionWith(t, c.before)
			now := first
			if c.now != "" {
				now = definitionWith(t, c.now)
			}
			change, err := Request(first, c.action)(now)
			if err != nil {
				if err.Error() != c.err {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if diff := cmp.Diff([]string{c.done, c.err, c.patch}, []string{change.Done, "", patchOf(t, change)}); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(c.notes, change.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}
