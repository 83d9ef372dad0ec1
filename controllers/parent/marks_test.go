package parent

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/record"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

func appliedAs(text string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{merge.LastApplied: text}},
	}}
}

func TestLastAppliedMark(t *testing.T) {
	decorated := variant.Mark{Annotation: v1alpha1.DecoratorAnnotation, Name: "d"}
	marked := `{"metadata":{"annotations":{"` + v1alpha1.DecoratorAnnotation + `":"d"}}}`
	for name, tc := range map[string]struct {
		text string
		want variant.Mark
	}{
		"no annotation":              {"", variant.Mark{}},
		"no slash":                   {`{"data":{"text":"metacontroller.k8s.io"}}`, variant.Mark{}},
		"a mark":                     {marked, decorated},
		"a mark behind other groups": {`{"apiVersion":"apps/v1","data":{"path":"/a//b/"},` + marked[1:], decorated},
		"a name of the group alone":  {`{"data":{"text":"metacontroller.k8s.io/other"}}`, variant.Mark{}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastAppliedMark(appliedAs(tc.text)); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// BenchmarkLastAppliedMark looks at a ConfigMap of 1.5 KB without a mark, as every pass does for each child.
func BenchmarkLastAppliedMark(b *testing.B) {
	object := appliedAs(`{"apiVersion":"v1","data":{"text":"` + strings.Repeat("some common text of a manual, ", 50) + `"},"kind":"ConfigMap"}`)
	for b.Loop() {
		lastAppliedMark(object)
	}
}

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
				env: Environment{Events: recorder}, problems: notices.NewProblems(clocktesting.NewFakePassiveClock(time.Unix(0, 0)), notices.EventLimits{}),
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
