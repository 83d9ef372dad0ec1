package composite

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// childID identifies a child in a ControllerRevision: without the version of its kind and
// without the namespace of a namespaced parent.
type childID struct {
	schema.GroupKind
	name string
}

func compareIDs(a, b childID) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.name, b.name))
}

// idOf returns the ID of a child. parentNamespace is empty for cluster-scoped parents.
func idOf(child *unstructured.Unstructured, parentNamespace string) childID {
	return childID{child.GroupVersionKind().GroupKind(), variant.ObjectKey(child, parentNamespace, true)}
}

// childIDsOf returns the children of a ControllerRevision. It removes the parent's own
// namespace from names, which some versions of metacontroller added.
func childIDsOf(stored *unstructured.Unstructured, parentNamespace string) []childID {
	var ids []childID
	entries, _ := stored.Object["children"].([]any)
	for _, entry := range entries {
		fields, _ := entry.(map[string]any)
		group, _ := fields["apiGroup"].(string)
		kind, _ := fields["kind"].(string)
		names, _ := fields["names"].([]any)
		for _, name := range names {
			text, _ := name.(string)
			ids = append(ids, childID{schema.GroupKind{Group: group, Kind: kind}, relativeTo(parentNamespace, text)})
		}
	}
	return ids
}

func relativeTo(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return strings.TrimPrefix(name, namespace+"/")
}

// encodeChildIDs returns children in the form of a ControllerRevision, sorted.
func encodeChildIDs(ids []childID) []any {
	var entries []any
	var names []any
	sorted := slices.Clone(ids)
	slices.SortFunc(sorted, compareIDs)
	for i, id := range sorted {
		names = append(names, id.name)
		if i+1 == len(sorted) || sorted[i+1].GroupKind != id.GroupKind {
			entries = append(entries, map[string]any{"apiGroup": id.Group, "kind": id.Kind, "names": names})
			names = nil
		}
	}
	return entries
}

// sameChildIDs reports whether two lists have the same elements in any order.
func sameChildIDs(a, b []childID) bool {
	in := map[childID]bool{}
	for _, id := range a {
		in[id] = true
	}
	both := map[childID]bool{}
	for _, id := range b {
		if !in[id] {
			return false
		}
		both[id] = true
	}
	return len(both) == len(in)
}
