package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// cachedObject is a cached object with some of its managedFields. They are kept apart from the object:
// code that passes it on or writes it back must not take them for all managedFields.
type cachedObject struct {
	*unstructured.Unstructured
	fields []any
}

// managedFieldsOf returns the managedFields that are kept for a cached object.
func managedFieldsOf(obj any) []any {
	if cached, ok := obj.(*cachedObject); ok {
		return cached.fields
	}
	return nil
}

// AppliedFields returns the entries of an object's managedFields that the caches keep (see KeepFields).
// The object must be one that the API server returned.
func (p *Pool) AppliedFields(object *unstructured.Unstructured) []any {
	if p.manager == "" {
		return nil
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, e := range entries {
		if e, ok := e.(map[string]any); ok && p.isKept(e) {
			// Entries that differ only in time are equal.
			kept = append(kept, map[string]any{
				"manager": e["manager"], "operation": e["operation"], "apiVersion": e["apiVersion"], "fieldsV1": e["fieldsV1"],
			})
		}
	}
	return kept
}

// isKept reports whether an entry of managedFields is kept.
func (p *Pool) isKept(entry map[string]any) bool {
	manager, _ := entry["manager"].(string)
	rest, ours := strings.CutPrefix(manager, p.manager)
	return ours && (rest == "" || rest[0] == '/') && entry["operation"] == "Apply" && entry["subresource"] == nil
}

// dropManagedFields removes an object's managedFields.
func dropManagedFields(object *unstructured.Unstructured) {
	if metadata, ok := object.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
}

// AppliedFields returns the entries of an object's managedFields that the cache keeps (see
// Pool.KeepFields). The object must come from the cache; it may have changed there since.
func (h *Handle) AppliedFields(object *unstructured.Unstructured) []any {
	obj, exists, err := h.shared.informer.GetIndexer().GetByKey(cache.NewObjectName(object.GetNamespace(), object.GetName()).String())
	if err != nil || !exists {
		return nil
	}
	return managedFieldsOf(obj)
}
