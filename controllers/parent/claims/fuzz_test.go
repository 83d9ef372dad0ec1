package claims

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// FuzzMarks reads the marks of any object. A mark that was lost is found only where the annotation
// that remembers what was applied has it.
func FuzzMarks(f *testing.F) {
	for _, text := range []string{
		`{"metadata":{"annotations":{"metacontroller.k8s.io/decorator-controller":"a"}}}`, `{"metadata":{"annotations":{"metacontroller.k8s.io/map-controller":1}}}`,
		`{"metadata":{"annotations":[]}}`, `{"metadata":null}`, `{"metadata":{"managedFields":[{"manager":"libretto/map/a","operation":"Apply"},1]}}`,
	} {
		f.Add([]byte(text), `{"metadata":{"annotations":{"metacontroller.k8s.io/decorator-controller":"b"}}}`)
		f.Add([]byte(text), `{"metadata":{"annotations":{"metacontroller.k8s.io/map-controller":2}}}`)
	}
	f.Fuzz(func(t *testing.T, text []byte, last string) {
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			t.Skip("no object")
		}
		object := &unstructured.Unstructured{Object: fields}
		before := fmt.Sprint(fields)
		shown := MarkOf(object)
		if annotations := annotationsOf(fields); shown != (variant.Mark{}) && annotations[shown.Annotation] != shown.Name {
			t.Errorf("the mark %v is not on %s", shown, text)
		}
		if annotations := annotationsOf(fields); annotations != nil {
			annotations[merge.LastApplied] = last
			before = fmt.Sprint(fields)
		}
		if mark := LastAppliedMark(object); mark != (variant.Mark{}) {
			var applied map[string]any
			if err := json.Unmarshal([]byte(merge.Annotation(fields)), &applied); err != nil || mark.Annotation != v1alpha1.DecoratorAnnotation && mark.Annotation != v1alpha1.MapAnnotation {
				t.Errorf("the mark %v is read from %s (%v)", mark, last, err)
			}
		}
		if after := fmt.Sprint(fields); before != after {
			t.Errorf("the object was changed from %s to %s", before, after)
		}
	})
}

func annotationsOf(fields map[string]any) map[string]any {
	metadata, _ := fields["metadata"].(map[string]any)
	annotations, _ := metadata["annotations"].(map[string]any)
	return annotations
}
