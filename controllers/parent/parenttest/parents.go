package parenttest

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// FullParent is a parent with all fields that the API server sets.
func FullParent() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "p", "namespace": "default", "uid": "u", "resourceVersion": "1", "generation": int64(1),
			"creationTimestamp": "2024-01-01T00:00:00Z", "labels": map[string]any{"a": "1"}, "annotations": map[string]any{"a": "1"},
			"finalizers":      []any{"f"},
			"ownerReferences": []any{map[string]any{"kind": "Other", "name": "o", "uid": "ou"}},
		},
		"spec": map[string]any{"n": int64(1)}, "status": map[string]any{"n": int64(1)}, "data": map[string]any{"k": "v"},
	}}
}
