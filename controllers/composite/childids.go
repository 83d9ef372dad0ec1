package composite

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// childID is a child as a ControllerRevision names it: without the version of
// its kind and without the namespace of a namespaced parent.
type childID struct {
	schema.GroupKind
	name string
}

func compareIDs(a, b childID) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.name, b.name))
}

// idOf names a child of a parent in a namespace, or in none.
func idOf(child *unstructured.Unstructured, parentNamespace string) childID {
	return childID{child.GroupVersionKind().GroupKind(), variant.ObjectKey(child, parentNamespace, true)}
}

// claimsOf reads a ControllerRevision's children. Some versions of metacontroller
// wrote the parent's own namespace before names; here it is taken off.
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

// claimed writes children as a ControllerRevision has them, sorted.
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

// sameClaims compares without regard to order.
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

// holders gives each child to the first revision that claims it: the latest
// before any other, a newer before an older one. Claims on kinds that are no
// longer rolled out count for nothing.
func (v *Variant) revisionByChild(h *history) map[childID]*revision {
	holder := map[childID]*revision{}
	for _, r := range append([]*revision{h.updateRevision}, h.oldRevisions...) {
		for _, id := range r.childIDs {
			if v.rolling[id.GroupKind] != nil && holder[id] == nil {
				holder[id] = r
			}
		}
	}
	return holder
}
