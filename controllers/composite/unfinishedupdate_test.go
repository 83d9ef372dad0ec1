package composite

import (
	"strings"
	"testing"
)

// TestUnfinished checks whether the rolling update of a parent's children is done, which a rollout of scripts by steps waits for.
func TestUnfinished(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		rollingUpdateCase
		want string // a part, or empty if it is done
	}{
		"Done": {
			reason:            "All are of the update revision, so that nothing is compared. They are not taken for ones that are not updated yet.",
			rollingUpdateCase: rollingUpdateCase{revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2"},
		},
		"DoneChecked": {
			reason:            "The same with status checks.",
			rollingUpdateCase: rollingUpdateCase{strategy: ready, revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2"},
		},
		"LastUnhealthy": {
			reason:            "The last one has been updated and does not pass its checks.",
			rollingUpdateCase: rollingUpdateCase{strategy: ready, revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2!"},
			want:              "Item prod/c has condition Ready with status False",
		},
		"LastBeingDeleted": {
			reason:            "The last one is being recreated.",
			rollingUpdateCase: rollingUpdateCase{revisions: []string{"v2: a b c"}, children: "a=v2 b=v2 c=v2-"},
			want:              "Item prod/c is being deleted",
		},
		"Waiting": {
			reason:            "Others wait for the first one.",
			rollingUpdateCase: rollingUpdateCase{strategy: ready, revisions: []string{"v1: b c", "v2: a"}, children: "a=v2! b=v1 c=v1"},
			want:              "Item prod/b waits for Item prod/a, which has condition Ready",
		},
		"Held": {
			reason:            "One that is held on purpose is waited for by nobody.",
			rollingUpdateCase: rollingUpdateCase{strategy: "partition: 1", revisions: []string{"v1: c", "v2: a b"}, children: "a=v2 b=v2 c=v1"},
		},
	} {
		for _, method := range []string{"RollingRecreate", "RollingInPlace"} {
			t.Run(name+"/"+method, func(t *testing.T) {
				e := c.env(t, bothInNamespace, method)
				d, err := e.desired(e.observed())
				if err != nil || (d.Rolling == "") != (c.want == "") || !strings.Contains(d.Rolling, c.want) {
					t.Errorf("%s\ngot %q, %v, want %q", c.reason, d.Rolling, err, c.want)
				}
			})
		}
	}
}
