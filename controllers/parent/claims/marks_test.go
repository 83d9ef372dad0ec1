package claims

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
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
			if got := LastAppliedMark(appliedAs(tc.text)); got != tc.want {
				t.Errorf("%+v, want %+v", got, tc.want)
			}
		})
	}
}

// BenchmarkLastAppliedMark looks at a ConfigMap of 1.5 KB without a mark, as every pass does for each child.
func BenchmarkLastAppliedMark(b *testing.B) {
	object := appliedAs(`{"apiVersion":"v1","data":{"text":"` + strings.Repeat("some common text of a manual, ", 50) + `"},"kind":"ConfigMap"}`)
	for b.Loop() {
		LastAppliedMark(object)
	}
}
