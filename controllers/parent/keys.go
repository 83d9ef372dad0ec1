package parent

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupKey is the key of a kind's group in a request: Kind.version for core
// kinds, Kind.group/version otherwise (section 0 of the specification).
func GroupKey(kind schema.GroupVersionKind) string {
	return kind.Kind + "." + kind.GroupVersion().String()
}

// ObjectKey is the key of an object in its group, for a parent in a namespace or
// in none (section 2.5 of the specification): namespace/name, but with relative
// keys the name alone if the parent is namespaced.
func ObjectKey(object *unstructured.Unstructured, parentNamespace string, relative bool) string {
	if object.GetNamespace() == "" || relative && parentNamespace != "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// Grouped gives the objects as a request shows them, with a group for each of
// kinds even where there is no object of it.
func Grouped(objects []*unstructured.Unstructured, kinds []schema.GroupVersionKind, parentNamespace string, relative bool) map[string]any {
	groups := make(map[string]any, len(kinds))
	for _, kind := range kinds {
		groups[GroupKey(kind)] = map[string]any{}
	}
	for _, object := range objects {
		if group, ok := groups[GroupKey(object.GroupVersionKind())].(map[string]any); ok {
			group[ObjectKey(object, parentNamespace, relative)] = object.Object
		}
	}
	return groups
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
