package rollout

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

func TestServedRevision(t *testing.T) {
	short, hash := "0123456789abcdef", "0123456789abcdef"+strings.Repeat("7", 48)
	cases := map[string]struct {
		reason string
		status v1alpha1.DefinitionStatus
		want   scripts.RevisionID
	}{
		"None": {"nothing has served yet", v1alpha1.DefinitionStatus{}, ""},
		"Both": {"the whole hash counts", v1alpha1.DefinitionStatus{ScriptRevision: short, ScriptRevisionHash: hash}, scripts.RevisionID(hash)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := ServedRevision(tc.status); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
