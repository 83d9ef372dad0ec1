package definition

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestPreviousRevision goes from revision to revision, and tells what served before.
func TestPreviousRevision(t *testing.T) {
	id := func(digit string) string { return strings.Repeat(digit, 64) }
	for name, c := range map[string]struct {
		reason string
		stored v1alpha1.DefinitionStatus
		serves string
		want   string
	}{
		"the first": {"Nothing served before.", v1alpha1.DefinitionStatus{}, id("a"), ""},
		"an edit": {
			"What served is named in the write that says that another one does.",
			v1alpha1.DefinitionStatus{ScriptRevision: id("a")[:16], ScriptRevisionHash: id("a")}, id("b"), id("a"),
		},
		"the same": {
			"A restart or a pin to what serves is no change.",
			v1alpha1.DefinitionStatus{ScriptRevision: id("b")[:16], ScriptRevisionHash: id("b"), PreviousScriptRevisionHash: id("a")}, id("b"), id("a"),
		},
		"back": {
			"A second rollback goes forth again.",
			v1alpha1.DefinitionStatus{ScriptRevision: id("b")[:16], ScriptRevisionHash: id("b"), PreviousScriptRevisionHash: id("a")}, id("a"), id("b"),
		},
		"none serves": {
			"A definition whose hooks become webhooks has no scripts to go back from.",
			v1alpha1.DefinitionStatus{ScriptRevision: id("b")[:16], ScriptRevisionHash: id("b"), PreviousScriptRevisionHash: id("a")}, "", id("a"),
		},
		"the same after none": {
			"A revision is not the one before itself.",
			v1alpha1.DefinitionStatus{PreviousScriptRevisionHash: id("a")}, id("a"), "",
		},
	} {
		if got := previousRevision(c.stored, scripts.RevisionID(c.serves)); got != c.want {
			t.Errorf("%s: %q, want %q: %s", name, got, c.want, c.reason)
		}
	}
}
