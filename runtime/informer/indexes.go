package informer

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/client-go/tools/cache"
)

const (
	// ownerIndex indexes objects by the UID of their controllerRef.
	ownerIndex = "owner"
	// orphanIndex indexes objects without a controllerRef by namespacedValue.
	orphanIndex = "orphan"
	// labelIndex indexes all objects by namespacedValue. It is added on first use.
	labelIndex = "label"
	// nameIndex indexes objects by name in all namespaces. It is added on first use.
	nameIndex = "name"
)

// anyLabel stands for all labels, for selectors without a requirement that an index can answer.
const anyLabel = "*"

func indexers() cache.Indexers {
	return cache.Indexers{
		ownerIndex: func(obj any) ([]string, error) {
			if ref := ControllerOf(object(obj)); ref != nil {
				return []string{string(ref.UID)}, nil
			}
			return nil, nil
		},
		orphanIndex: func(obj any) ([]string, error) {
			o := object(obj)
			if ControllerOf(o) != nil {
				return nil, nil
			}
			return labelValues(o), nil
		},
	}
}

// labelValues returns index values for each label of an object: one for its namespace and one for all
// namespaces. With them, a selector finds its candidates without looking at the other objects.
func labelValues(object *unstructured.Unstructured) []string {
	namespace, set := object.GetNamespace(), object.GetLabels()
	values := make([]string, 0, 2*len(set)+2)
	add := func(pair string) {
		values = append(values, namespacedValue("", pair))
		if namespace != "" {
			values = append(values, namespacedValue(namespace, pair))
		}
	}
	add(anyLabel)
	for key, value := range set {
		add(key + "=" + value)
	}
	return values
}

func namespacedValue(namespace, pair string) string { return namespace + "/" + pair }

// Orphans returns the objects without a controllerRef that match a selector, in one namespace, or in all
// if it is empty. The cost depends on the number of orphans with the rarest label of the selector, not
// on the number of all orphans.
func (h *Handle) Orphans(namespace string, selector labels.Selector) []*unstructured.Unstructured {
	return h.selectByIndex(orphanIndex, namespace, selector)
}

// Select returns the objects that match a selector, in one namespace, or in all if it is empty. The cost
// depends on the number of objects with the rarest label of the selector. The first call for a resource
// adds the index.
func (h *Handle) Select(namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	if namespace == "" && selector.Empty() {
		return h.List(), nil
	}
	if err := h.AddIndex(labelIndex, labelValues); err != nil {
		return nil, err
	}
	return h.selectByIndex(labelIndex, namespace, selector), nil
}

// Named returns the objects with a name, in all namespaces.
func (h *Handle) Named(name string) ([]*unstructured.Unstructured, error) {
	err := h.AddIndex(nameIndex, func(o *unstructured.Unstructured) []string { return []string{o.GetName()} })
	if err != nil {
		return nil, err
	}
	return h.ByIndex(nameIndex, name), nil
}

// selectByIndex looks up a selector in an index of label values. If several labels can answer it, it
// uses one that few objects had before.
func (h *Handle) selectByIndex(index, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, pair := range h.shared.smallest(index, namespace, alternatives(selector)) {
		candidates := h.ByIndex(index, namespacedValue(namespace, pair))
		h.shared.recordIndexSize(index, namespace, pair, len(candidates))
		for _, candidate := range candidates {
			if selector.Matches(labels.Set(candidate.GetLabels())) {
				found = append(found, candidate)
			}
		}
	}
	return found
}

// minRecordedSize is the number of objects from which the size of an index entry is recorded.
const minRecordedSize = 100

// indexEntry identifies a value of an index.
type indexEntry struct{ index, value string }

// recordIndexSize records how many objects have a value, if they are many.
func (s *sharedInformer) recordIndexSize(index, namespace, pair string, size int) {
	if key := (indexEntry{index, namespacedValue(namespace, pair)}); size > minRecordedSize {
		s.indexSizes.Store(key, size)
	} else {
		s.indexSizes.Delete(key)
	}
}

// smallest returns the alternative with the fewest objects, as far as known, and among equals the one
// with the fewest pairs.
func (s *sharedInformer) smallest(index, namespace string, alternatives [][]string) []string {
	if len(alternatives) == 0 {
		return nil
	}
	size := func(pairs []string) (sum int) {
		for _, pair := range pairs {
			if known, ok := s.indexSizes.Load(indexEntry{index, namespacedValue(namespace, pair)}); ok {
				sum += known.(int)
			}
		}
		return sum
	}
	return slices.MinFunc(alternatives, func(a, b []string) int {
		return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(len(a), len(b)))
	})
}

// Pairs returns labels, as "key=value", of which every object that matches the selector has exactly one:
// those of its most selective requirement. It returns "*" if no requirement has values, and nothing if
// the selector matches nothing. The same pairs index objects by label and parents by selector.
func Pairs(selector labels.Selector) []string {
	all := alternatives(selector)
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
}

// alternatives returns the pairs of each requirement with values. The pairs of any one of them find all
// objects that match.
func alternatives(selector labels.Selector) [][]string {
	requirements, selectable := selector.Requirements()
	if !selectable {
		return nil
	}
	var all [][]string
	for _, r := range requirements {
		switch r.Operator() {
		case selection.Equals, selection.DoubleEquals, selection.In:
		default:
			continue
		}
		pairs := r.ValuesUnsorted()
		for i, value := range pairs {
			pairs[i] = r.Key() + "=" + value
		}
		slices.Sort(pairs)
		all = append(all, slices.Compact(pairs)) // A value may be listed twice.
	}
	if len(all) == 0 {
		return [][]string{{anyLabel}}
	}
	return all
}

// PairsOf returns the values of Pairs that selectors matching these labels may have.
func PairsOf(set map[string]string) []string {
	pairs := make([]string, 1, len(set)+1)
	pairs[0] = anyLabel
	for key, value := range set {
		pairs = append(pairs, key+"="+value)
	}
	return pairs
}
