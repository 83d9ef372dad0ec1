package variant

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
)

// WithMetadata returns a copy of object whose own metadata fields may be set. All else is
// shared, including the maps of labels and annotations.
func WithMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	fields := maps.Clone(object.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	fields["metadata"] = maps.Clone(metadata)
	return &unstructured.Unstructured{Object: fields}
}

// WithMarks returns a copy of object, which must have metadata, with more labels and
// annotations. It keeps null ones, on which accessors fail.
func WithMarks(object *unstructured.Unstructured, labels, annotations map[string]any) *unstructured.Unstructured {
	marked := WithMetadata(object)
	metadata := marked.Object["metadata"].(map[string]any)
	for field, more := range map[string]map[string]any{"labels": labels, "annotations": annotations} {
		if len(more) > 0 {
			metadata[field] = MergeFields(metadata[field], more)
		}
	}
	return marked
}

// MergeFields returns a copy of a JSON object with more entries. For any other value it returns
// a copy of more.
func MergeFields(object any, more map[string]any) map[string]any {
	given, _ := object.(map[string]any)
	result := make(map[string]any, len(given)+len(more))
	maps.Copy(result, given)
	maps.Copy(result, more)
	return result
}

// KeysOf returns the keys of objects as a set.
func KeysOf(objects []*unstructured.Unstructured) map[apply.Key]bool {
	keys := make(map[apply.Key]bool, len(objects))
	for _, object := range objects {
		keys[apply.KeyOf(object)] = true
	}
	return keys
}
