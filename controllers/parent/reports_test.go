package parent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// TestReportUnownedOutputs checks that many outputs that lost their marks at once have one event, without those that block a creation.
func TestReportUnownedOutputs(t *testing.T) {
	wanted := parenttest.Object("wanted")
	for name, tc := range map[string]struct {
		unowned []string
		want    string
	}{
		"none":         {nil, ""},
		"a wanted one": {[]string{"wanted"}, ""},
		"one":          {[]string{"wanted", "a"}, "a is an output of the parent, but"},
		"many":         {[]string{"a", "wanted", "b", "c"}, "a is an output of the parent (as are 2 more), but"},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := record.NewFakeRecorder(10)
			p := &pass{parent: parenttest.ParentOf("1", 0), shared: &shared{
				env:       Environment{Events: Recorders{Rare: recorder}},
				inherited: inherited{problems: notices.NewProblems(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{})},
			}}
			for _, name := range tc.unowned {
				p.unownedOutputs = append(p.unownedOutputs, apply.KeyOf(parenttest.Object(name)))
			}
			p.reportUnownedOutputs(variant.Desired{Children: []*unstructured.Unstructured{wanted}})
			close(recorder.Events)
			if got := <-recorder.Events; !strings.Contains(got, tc.want) || got != "" && tc.want == "" || <-recorder.Events != "" {
				t.Errorf("event %q, want one with %q", got, tc.want)
			}
		})
	}
}
