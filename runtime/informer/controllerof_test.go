package informer

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestControllerOf compares with what it stands in for.
func TestControllerOf(t *testing.T) {
	ref := func(fields map[string]any) map[string]any {
		all := map[string]any{"apiVersion": "example.com/v1", "kind": "Web", "name": "web", "uid": "u"}
		maps.Copy(all, fields)
		return all
	}
	for name, refs := range map[string]any{
		"none":                nil,
		"not a list":          "web",
		"an item is no ref":   []any{"web", ref(map[string]any{"controller": true})},
		"only other owners":   []any{ref(nil), ref(map[string]any{"controller": false})},
		"the second controls": []any{ref(map[string]any{"uid": "other"}), ref(map[string]any{"controller": true})},
		"blocks":              []any{ref(map[string]any{"controller": true, "blockOwnerDeletion": true})},
		"does not block":      []any{ref(map[string]any{"controller": true, "blockOwnerDeletion": false})},
		"controls by a text":  []any{ref(map[string]any{"controller": "true"})},
		"without a uid":       []any{map[string]any{"controller": true}},
	} {
		t.Run(name, func(t *testing.T) {
			object := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"ownerReferences": refs}}}
			if diff := cmp.Diff(metav1.GetControllerOfNoCopy(object), ControllerOf(object)); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}
