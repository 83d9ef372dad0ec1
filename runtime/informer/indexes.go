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
	// ownerIndex has the UID of the controllerRef.
	ownerIndex = "owner"
	// orphanIndex has, of objects without a controllerRef, the values that scoped gives.
	orphanIndex = "orphan"
	// labelIndex has, of all objects, the values that scoped gives. It is made
	// when it is first used.
	labelIndex = "label"
	// nameIndex has the name, whatever the namespace. It is made when it is first used.
	nameIndex = "name"
)

// anyLabel stands for every label where a selector names none that an index could know.
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

// labelValues places an object under each of its labels, in its namespace and
// in all, so that a selector finds its candidates however many others there are.
func labelValues(object *unstructured.Unstructured) []string {
	namespace, set := object.GetNamespace(), object.GetLabels()
	values := make([]string, 0, 2*len(set)+2)
	add := func(pair string) {
		values = append(values, scoped("", pair))
		if namespace != "" {
			values = append(values, scoped(namespace, pair))
		}
	}
	add(anyLabel)
	for key, value := range set {
		add(key + "=" + value)
	}
	return values
}

func scoped(namespace, pair string) string { return namespace + "/" + pair }

// Orphans gives the objects without a controllerRef that a selector matches, in
// one namespace, or in all if it is empty. Its cost grows with the orphans that
// have the rarest of the selector's labels, not with all there are.
func (h *Handle) Orphans(namespace string, selector labels.Selector) []*unstructured.Unstructured {
	return h.matching(orphanIndex, namespace, selector)
}

// Select gives the objects that a selector matches, in one namespace, or in all
// if it is empty. Its cost grows with the objects that have the rarest of the
// selector's labels. The index that it needs is made at the first call for a resource.
func (h *Handle) Select(namespace string, selector labels.Selector) ([]*unstructured.Unstructured, error) {
	if namespace == "" && selector.Empty() {
		return h.List(), nil
	}
	if err := h.AddIndex(labelIndex, labelValues); err != nil {
		return nil, err
	}
	return h.matching(labelIndex, namespace, selector), nil
}

// Named gives the objects of a name in whatever namespace.
func (h *Handle) Named(name string) ([]*unstructured.Unstructured, error) {
	err := h.AddIndex(nameIndex, func(o *unstructured.Unstructured) []string { return []string{o.GetName()} })
	if err != nil {
		return nil, err
	}
	return h.ByIndex(nameIndex, name), nil
}

// matching looks a selector up in an index of label values: where there is a
// choice, by a label that was not found on many objects before.
func (h *Handle) matching(index, namespace string, selector labels.Selector) []*unstructured.Unstructured {
	var found []*unstructured.Unstructured
	for _, pair := range h.shared.leastCrowded(index, namespace, alternatives(selector)) {
		candidates := h.ByIndex(index, scoped(namespace, pair))
		h.shared.noteCrowd(index, namespace, pair, len(candidates))
		for _, candidate := range candidates {
			if selector.Matches(labels.Set(candidate.GetLabels())) {
				found = append(found, candidate)
			}
		}
	}
	return found
}

// crowd is how many objects under one value of an index are worth remembering.
const crowd = 100

// crowded is a value of an index that many objects have.
type crowded struct{ index, value string }

// noteCrowd remembers how many objects have a value, if they are many.
func (s *shared) noteCrowd(index, namespace, pair string, size int) {
	if key := (crowded{index, scoped(namespace, pair)}); size > crowd {
		s.crowds.Store(key, size)
	} else {
		s.crowds.Delete(key)
	}
}

// leastCrowded gives the alternative with the fewest objects, as far as is known,
// and of those that are alike the one with the fewest pairs.
func (s *shared) leastCrowded(index, namespace string, alternatives [][]string) []string {
	if len(alternatives) == 0 {
		return nil
	}
	size := func(pairs []string) (sum int) {
		for _, pair := range pairs {
			if known, ok := s.crowds.Load(crowded{index, scoped(namespace, pair)}); ok {
				sum += known.(int)
			}
		}
		return sum
	}
	return slices.MinFunc(alternatives, func(a, b []string) int {
		return cmp.Or(cmp.Compare(size(a), size(b)), cmp.Compare(len(a), len(b)))
	})
}

// Pairs gives labels, as "key=value", of which every object that the selector
// matches has exactly one: those of its most telling requirement. It gives "*"
// if no requirement names values, and nothing if the selector matches nothing.
// The same pairs index objects by label and parents by selector.
func Pairs(selector labels.Selector) []string {
	all := alternatives(selector)
	if len(all) == 0 {
		return nil
	}
	return slices.MinFunc(all, func(a, b []string) int { return cmp.Compare(len(a), len(b)) })
}

// alternatives gives the pairs of each requirement that names values. Any of them
// is enough to find what the selector matches.
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

// PairsOf gives the values of Pairs under which a selector may stand that
// matches an object of these labels.
func PairsOf(set map[string]string) []string {
	pairs := make([]string, 1, len(set)+1)
	pairs[0] = anyLabel
	for key, value := range set {
		pairs = append(pairs, key+"="+value)
	}
	return pairs
}
