package parent

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestOldPrograms calls hooks of other revisions of the scripts than the one that serves.
func TestOldPrograms(t *testing.T) {
	cases := map[string]struct {
		reason   string
		revision string
		alone    bool // there is no history of scripts
		want     string
	}{
		"Serving": {reason: "A call that names no revision is answered by the one that serves.", want: "new"},
		"Old":     {reason: "One that names another is answered by that.", revision: "old", want: "old"},
		"Alone":   {reason: "Offline there is one text.", revision: "old", alone: true, want: "new"},
		"Loading": {reason: "While it is being loaded the pass is postponed, and no call is made.", revision: "loading", want: "later"},
		"Gone":    {reason: "What can't be had is an error of the call.", revision: "gone", want: "revision gone of the scripts: it is not archived"},
		"NoHook":  {reason: "The old scripts may lack the hook.", revision: "other", want: "the hook is not loaded"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			serving, old := &recorder{}, &recorder{}
			config := Config{Revisions: Revisions{ProgramsOf: func(revision string) (Programs, error) {
				switch revision {
				case "loading":
					return Programs{}, ErrProgramsLoading
				case "gone":
					return Programs{}, errors.New("it is not archived")
				case "other":
					return Programs{ByHook: map[string]engines.Program{"finalize": old}}, nil
				}
				return Programs{ByHook: map[string]engines.Program{"sync": old}}, nil
			}}}
			if tc.alone {
				config.Revisions.ProgramsOf = nil
			}
			p := &pass{
				shared:   &shared{config: config, env: Environment{Clock: clocktesting.NewFakeClock(time.Unix(5, 0))}},
				parent:   &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "u"}}},
				programs: Programs{ByHook: map[string]engines.Program{"sync": serving}},
			}
			call := variant.Call{Hook: "sync", ScriptRevision: tc.revision, Subject: "called"}
			err := p.findOldPrograms([]variant.Call{{Hook: "sync"}, call})
			got := "later"
			if !errors.Is(err, controller.ErrLater) {
				if _, err = p.call(t.Context(), call, time.Unix(5, 0)); err != nil {
					got = err.Error()
				} else if got = "new"; old.call.Subject != "" {
					got = "old"
				}
			}
			if !strings.Contains(got, tc.want) {
				t.Errorf("%s\n%s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
