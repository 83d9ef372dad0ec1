package informer

import (
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
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
		if e, ok := e.(map[string]any); ok && p.isKept(text(e, "manager"), text(e, "operation"), text(e, "subresource")) {
			kept = append(kept, withoutTime(e))
		}
	}
	return kept
}

func text(entry map[string]any, name string) string {
	value, _ := entry[name].(string)
	return value
}

// appliedNames are the fields of an entry of managedFields that are kept.
var appliedNames = []string{"manager", "operation", "apiVersion", "fieldsV1"}

// withoutTime returns an entry of managedFields without its time: entries that differ only in time are equal. It
// returns the same map if nothing is to be left out, which is so for what objectjson has decoded.
func withoutTime(entry map[string]any) map[string]any {
	_, timed := entry["time"]
	_, typed := entry["fieldsType"]
	if !timed && !typed && len(entry) == len(appliedNames) {
		return entry
	}
	kept := make(map[string]any, len(appliedNames))
	for _, name := range appliedNames {
		kept[name] = entry[name]
	}
	return kept
}

// isKept reports whether an entry of managedFields is kept.
func (p *Pool) isKept(manager, operation, subresource string) bool {
	rest, ours := strings.CutPrefix(manager, p.manager)
	return ours && (rest == "" || rest[0] == '/') && operation == "Apply" && subresource == ""
}

// withoutManagedFields returns an object without its managedFields, which shares all else.
func withoutManagedFields(object *unstructured.Unstructured) *unstructured.Unstructured {
	metadata, _ := object.Object["metadata"].(map[string]any)
	rest, managed := jsonvalue.Without(metadata, "managedFields")
	if !managed {
		return object
	}
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", rest)}
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
