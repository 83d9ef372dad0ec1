package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"
)

// applied is an object in a cache of which fields are kept. They are not in the object
// itself: nobody who hands it on or writes it back is to take them for all there are.
type applied struct {
	*unstructured.Unstructured
	fields []any
}

// fieldsOf gives what is kept of the fields of something in a cache.
func fieldsOf(obj any) []any {
	if held, ok := obj.(*applied); ok {
		return held.fields
	}
	return nil
}

// Applied gives what is kept of an object's managedFields (KeepFields), as the caches
// keep it. The object is one that the API server returned.
func (p *Pool) Applied(object *unstructured.Unstructured) []any {
	if p.manager == "" {
		return nil
	}
	metadata, _ := object.Object["metadata"].(map[string]any)
	entries, _ := metadata["managedFields"].([]any)
	var kept []any
	for _, e := range entries {
		if e, ok := e.(map[string]any); ok && p.keeps(e) {
			// The time would tell entries apart that are alike in all else.
			kept = append(kept, map[string]any{
				"manager": e["manager"], "operation": e["operation"], "apiVersion": e["apiVersion"], "fieldsV1": e["fieldsV1"],
			})
		}
	}
	return kept
}

// keeps says whether an entry is one of those to keep.
func (p *Pool) keeps(entry map[string]any) bool {
	manager, _ := entry["manager"].(string)
	rest, ours := strings.CutPrefix(manager, p.manager)
	return ours && (rest == "" || rest[0] == '/') && entry["operation"] == "Apply" && entry["subresource"] == nil
}

// dropFields takes an object's managedFields off.
func dropFields(object *unstructured.Unstructured) {
	if metadata, ok := object.Object["metadata"].(map[string]any); ok {
		delete(metadata, "managedFields")
	}
}

// Applied gives what the cache keeps of an object's managedFields (Pool.KeepFields). The
// object is one that the cache gave, and may have changed in it meanwhile.
func (h *Handle) Applied(object *unstructured.Unstructured) []any {
	obj, exists, err := h.shared.informer.GetIndexer().GetByKey(cache.NewObjectName(object.GetNamespace(), object.GetName()).String())
	if err != nil || !exists {
		return nil
	}
	return fieldsOf(obj)
}
