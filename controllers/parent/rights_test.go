package parent

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/apply"
)

// TestRightsFor checks which rights each change of a child takes.
func TestRightsFor(t *testing.T) {
	applied := &apply.ServerSide{}
	for _, tc := range []struct {
		change apply.Change
		verbs  string
	}{
		{apply.Change{Action: apply.ActionCreate}, "create"}, {apply.Change{Action: apply.ActionCreate, ServerSide: applied}, "create patch"},
		{apply.Change{Action: apply.ActionUpdate}, "update"}, {apply.Change{Action: apply.ActionUpdate, ServerSide: applied}, "patch"},
		{apply.Change{Action: apply.ActionAdopt}, "patch"}, {apply.Change{Action: apply.ActionRelease}, "patch"},
		{apply.Change{Action: apply.ActionRecreate}, "delete create"}, {apply.Change{Action: apply.ActionDelete}, "delete"},
	} {
		tc.change.Key.Namespace = "a"
		var verbs []string
		for _, right := range RightsFor(tc.change) {
			if right.Namespace != "a" {
				t.Errorf("%s: in the namespace %q", tc.change.Action, right.Namespace)
			}
			verbs = append(verbs, right.Verb)
		}
		if got := strings.Join(verbs, " "); got != tc.verbs {
			t.Errorf("%s takes %q, want %q", tc.change.Action, got, tc.verbs)
		}
	}
}
