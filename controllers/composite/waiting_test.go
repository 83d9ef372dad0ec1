package composite

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// TestWaiting checks the desired state of a parent of which some revision's answer waits: nothing of the children is decided.
func TestWaiting(t *testing.T) {
	asItWas := condition{"True", reasonOnLatest, "as it was"}.entry(nil, start, start)
	cases := map[string]struct {
		reason     string
		revisions  []string
		waits      string // the image that the hook waits for
		conditions []any  // of the parent
		finalized  bool
		want       []any // the wait, and the condition Updated
	}{
		"Begins": {
			reason: "A parent whose children were never made is not up to date.",
			waits:  "v2", want: []any{"Busy: v2 is not built", "False RolloutWaiting: the hook waits: Busy: v2 is not built"},
		},
		"Settled": {
			reason: "All children are of the present revision, so that the condition stays.", revisions: []string{"v2: a b"},
			waits: "v2", conditions: []any{asItWas}, want: []any{"Busy: v2 is not built", "True OnLatestRevision: as it was"},
		},
		"SettledWithout": {
			reason: "A condition that was not there is not made up.", revisions: []string{"v2: a b"},
			waits: "v2", want: []any{"Busy: v2 is not built", ""},
		},
		"Changed": {
			reason: "A change that has not begun to be rolled out would otherwise seem done.", revisions: []string{"v1: a b"},
			waits: "v2", conditions: []any{asItWas},
			want: []any{"Busy: v2 is not built", "False RolloutWaiting: the hook waits: Busy: v2 is not built"},
		},
		"Halfway": {
			reason: "A rollout stops in the middle.", revisions: []string{"v1: a", "v2: b"},
			waits: "v2", want: []any{"Busy: v2 is not built", "False RolloutWaiting: the hook waits: Busy: v2 is not built"},
		},
		"Old": {
			reason:    "If the children of an old revision are unknown, none are changed, and all of them must be finalized.",
			revisions: []string{"v1: a", "v2: b"}, waits: "v1", finalized: true,
			want: []any{
				"Busy: v1 is not built (about the earlier state of the parent that some children are of, ControllerRevision",
				"False RolloutWaiting: the hook waits: Busy: v1 is not built (about the earlier state of the parent that some children are of, ControllerRevision",
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, bothInNamespace, "{method: RollingInPlace}", "a", "b")
			e.addChild(t, bothInNamespace, "a=v1")
			for _, line := range tc.revisions {
				e.storeRevision(t, bothInNamespace, line, 0)
			}
			e.setImage("v2")
			if tc.conditions != nil {
				e.parent.Object["status"] = map[string]any{"conditions": tc.conditions}
			}
			answering(func(body map[string]any, call variant.Call) {
				image := imageOf(call)
				body["finalized"] = tc.finalized
				if image == tc.waits {
					delete(body, "children")
					delete(body, "finalized")
					body["waiting"] = map[string]any{"reason": "Busy", "message": image.(string) + " is not built"}
				}
			})(e)
			d, err := e.desired(e.observed())
			if err != nil {
				t.Fatal(err)
			}
			if d.Waiting == nil || d.Children != nil || d.Revisions != nil || d.Finalized {
				t.Fatalf("%s\nit does not leave the children alone: %+v", tc.reason, d)
			}
			got := []any{withoutScope(d.Waiting.String()), withoutScope(describeCondition(d.Status))}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
			if seen := d.Status["seen"]; seen != "v2" {
				t.Errorf("%s\nthe status is that of %v", tc.reason, seen)
			}
		})
	}
}
