package variant

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// WithMetadata gives a copy of object whose own metadata fields may be set. All
// else, the maps of labels and annotations included, is shared.
func WithMetadata(object *unstructured.Unstructured) *unstructured.Unstructured {
	fields := maps.Clone(object.Object)
	metadata, _ := fields["metadata"].(map[string]any)
	fields["metadata"] = maps.Clone(metadata)
	return &unstructured.Unstructured{Object: fields}
}

// Marked gives a copy of object, which has metadata, with more labels and
// annotations. Null ones, which accessors would trip over, are kept.
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

// With gives a copy of a JSON object with more entries; of anything else it gives
// those entries alone.
func MergeFields(object any, more map[string]any) map[string]any {
	given, _ := object.(map[string]any)
	result := make(map[string]any, len(given)+len(more))
	maps.Copy(result, given)
	maps.Copy(result, more)
	return result
}
