package merge_test

import (
	"encoding/json"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
)

// FuzzAnnotation merges with any text in the annotation that remembers what was applied, which anybody may
// write who may write the object. A text that is no object counts as none: then nothing is removed.
func FuzzAnnotation(f *testing.F) {
	for _, text := range []string{
		`{"data":{"a":"b","gone":"x"},"metadata":{"name":"a","labels":{"l":"1"}}}`, `{"data":null,"metadata":{"annotations":{}}}`,
		`{"data":{"a":"sha256:0000"}}`, `null`, `[]`, `"text"`, `{`, `{"metadata":[],"kind":"Secret","apiVersion":"v1","stringData":{"a":"b"}}`,
		`{"list":[{"name":"a"},{"name":"b","x":1}]}`, `{"list":[null,{}]}`,
	} {
		f.Add(text, []byte("0123456789abcdef0123456789"))
		f.Add(text, []byte{})
	}
	f.Fuzz(func(t *testing.T, text string, data []byte) {
		g := grower{data: data}
		observed, desired := g.root(), g.root()
		observed["data"] = map[string]any{"a": "b", "gone": "x", "foreign": "y"}
		observed["list"] = []any{map[string]any{"name": "a", "y": int64(1)}, map[string]any{"name": "b", "x": int64(1)}}
		meta := observed["metadata"].(map[string]any)
		annotations, _ := meta["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
			meta["annotations"] = annotations
		}
		annotations[merge.LastApplied] = text
		var last map[string]any
		if json.Unmarshal([]byte(text), &last) != nil {
			last = nil
		}
		checkMerge(t, nil, &unstructured.Unstructured{Object: observed}, merge.Managed(last), &unstructured.Unstructured{Object: desired})
		object := &unstructured.Unstructured{Object: observed}
		if label := merge.LastLabel(object, "l"); label != "" && last == nil {
			t.Errorf("the label %q is read from %q, which is no object", label, text)
		}
		merge.LastAnnotation(object, "a")
	})
}
