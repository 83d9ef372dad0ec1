package hosted

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

// servingID is the ID of the text that made the children.
var servingID = strings.Repeat("a", 64)

// TestRollingPreview previews edits that reach children one after another: what counts is what moves at once.
func TestRollingPreview(t *testing.T) {
	serving, gone := making("1", three), errors.New("it is not archived")
	for name, c := range map[string]struct {
		reason string
		next   texts
		others hooks.ProgramsFunc
		want   scripts.Preview
	}{
		"recreated": {
			reason: "One child of each parent moves, and the next one when that is ready.",
			next:   making("2", three), want: scripts.Preview{Summary: "previewed on 4 of 4 parents", Destroys: true},
		},
		"an old text that is gone": {
			reason: "One moves; the others stay as they are until their turn.", others: func(scripts.RevisionID) (map[string]engines.Program, error) { return nil, gone },
			next: making("2", three), want: scripts.Preview{Summary: "previewed on 4 of 4 parents", Destroys: true},
		},
		"deleted": {
			reason: "What is not wanted any more goes at once.",
			next:   making("1", nil),
			want:   scripts.Preview{Held: "it would delete 12 of 12 children of 4 of 4 parents, first ConfigMap default/b000-0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := settled(t, "RollingRecreate", script, "", serving, 4, nil)
			if c.others == nil {
				c.others = func(id scripts.RevisionID) (map[string]engines.Program, error) {
					if string(id) != servingID {
						t.Errorf("revision %q is asked for", id)
					}
					return serving, nil
				}
			}
			got := New("libretto", nil, nil).Preview(t.Context(), definition.PreviewSubject{
				Plan: s.plan, Serving: s.plan, Scripts: c.next, ServingScripts: serving, Parents: s.reconciler.Sampler,
				Revision: scripts.RevisionID(strings.Repeat("b", 64)), ServingRevision: scripts.RevisionID(servingID), ProgramsOf: c.others,
			})
			if c.want.Summary == "" {
				got.Summary = ""
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", c.reason, diff)
			}
		})
	}
}
