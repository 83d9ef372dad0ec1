package definition

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		"None":    {"nothing has served yet", v1alpha1.DefinitionStatus{}, ""},
		"Both":    {"the whole hash counts", v1alpha1.DefinitionStatus{ScriptRevision: short, ScriptRevisionHash: hash}, scripts.RevisionID(hash)},
		"Earlier": {"an earlier version wrote no hash", v1alpha1.DefinitionStatus{ScriptRevision: short}, scripts.RevisionID(short)},
		"Between": {
			"an earlier version has written another revision since, and left the hash",
			v1alpha1.DefinitionStatus{ScriptRevision: "fedcba9876543210", ScriptRevisionHash: hash}, "fedcba9876543210",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := servedRevision(tc.status); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestStatusHasBothRevisions checks that the status has the digits for people and the whole hash, which is read back.
func TestStatusHasBothRevisions(t *testing.T) {
	s := &runtimeState{}
	id := scripts.RevisionID("0123456789abcdef" + strings.Repeat("7", 48))
	status := s.statusOf(definitionWith(t, "a", 1, nil), statusView{running: runningView{revision: id}})
	if diff := cmp.Diff([]string{"0123456789abcdef", string(id)}, []string{status.ScriptRevision, status.ScriptRevisionHash}); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := servedRevision(status); got != id {
		t.Errorf("read back as %q", got)
	}
	none := s.statusOf(definitionWith(t, "a", 1, &status), statusView{})
	if none.ScriptRevision != "" || none.ScriptRevisionHash != "" {
		t.Errorf("without scripts the status has %q and %q", none.ScriptRevision, none.ScriptRevisionHash)
	}
}
