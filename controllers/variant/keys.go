package variant

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupKey returns the key of a kind's group in a request: Kind.version for core kinds,
// Kind.group/version otherwise (section 0 of the specification).
func GroupKey(kind schema.GroupVersionKind) string {
	return kind.Kind + "." + kind.GroupVersion().String()
}

// ObjectKey returns the key of an object in its group (section 2.5 of the specification):
// namespace/name, but with relative keys only the name if the parent is namespaced.
func ObjectKey(object *unstructured.Unstructured, parentNamespace string, relative bool) string {
	if object.GetNamespace() == "" || relative && parentNamespace != "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// Grouped returns the objects as in a request, with a group for each of kinds even without
// objects. With relative keys a namespaced parent sees no objects of other namespaces and no
// cluster-scoped ones.
func Grouped(objects []*unstructured.Unstructured, kinds []schema.GroupVersionKind, parentNamespace string, relative bool) map[string]any {
	groups := make(map[string]any, len(kinds))
	byKind := make(map[schema.GroupVersionKind]map[string]any, len(kinds))
	for _, kind := range kinds {
		byKind[kind] = map[string]any{}
		groups[GroupKey(kind)] = byKind[kind]
	}
	for _, object := range objects {
		if relative && parentNamespace != "" && object.GetNamespace() != parentNamespace {
			continue
		}
		if group := byKind[object.GroupVersionKind()]; group != nil {
			group[ObjectKey(object, parentNamespace, relative)] = object.Object
		}
	}
	return groups
}

// SortedKeys returns the keys of m in order.
func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
