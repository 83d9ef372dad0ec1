package hosted

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestGone previews edits of hooks that have made three ConfigMaps of each of four Boxes, after earlier edits have deleted some.
func TestGone(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		next   texts
		limits *v1alpha1.ScriptPreview
		gone   int
		want   scripts.Preview
	}{
		"few": {
			reason: "8 of 16 are not more than half.", next: making("1", three[:2]), gone: 4,
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents", Destroys: true},
		},
		"too many": {
			reason: "Halving in steps adds up.", next: making("1", three[:2]), gone: 5, want: scripts.Preview{Held: "it would delete 9 of 17 children " +
				"of 4 of 4 parents, first ConfigMap default/b000-2; 5 of them are gone since an earlier edit", Summary: "previewed on 4 of 4 parents"},
		},
		"a limit": {
			reason: "It counts for limits as well.", next: making("1", three[:2]), gone: 1, limits: &v1alpha1.ScriptPreview{MaxDeletedChildren: limit("4")},
			want: scripts.Preview{Held: "it would delete 5 of 13 children of 4 of 4 parents, more than spec.scriptRollout.preview.maxDeletedChildren: 4 " +
				"allows, first ConfigMap default/b000-2; 1 of them is gone since an earlier edit", Summary: "previewed on 4 of 4 parents"},
		},
		"harmless": {
			reason: "What deletes nothing is not held for what others did.", next: making("2", three), gone: 100,
			want: scripts.Preview{Summary: "previewed on 4 of 4 parents"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(t, "InPlace", script, "", making("1", three), 4, nil)
			subject := s.subject(c.next)
			before := rollout.ChildCounts{Children: map[schema.GroupKind]int{{Kind: "ConfigMap"}: c.gone}}
			subject.Limits, subject.Gone = c.limits, rollout.Record{Before: &before}.Gone(nil)
			if diff := cmp.Diff(c.want, New("libretto", nil, nil).Preview(t.Context(), subject)); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
