package composite

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// templateLabels are those that metacontroller gives revisions.
func templateLabels(p *unstructured.Unstructured) map[string]string {
	given, _, _ := unstructured.NestedStringMap(p.Object, "spec", "template", "metadata", "labels")
	return given
}

// satisfying makes labels that the selector matches, so that what carries them is
// found again (in metacontroller the labels of the parent's template need not). Where
// an expression leaves a choice it takes the preferred label if that will do, or
// else the first value that does.
func labelsMatching(selector labels.Selector, preferred map[string]string) map[string]string {
	set := map[string]string{}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist:
			continue // The absence of the label satisfies it.
		}
		values := slices.Concat([]string{preferred[r.Key()]}, slices.Sorted(maps.Keys(r.Values())), []string{""})
		for _, value := range values {
			if matchesAll(requirements, r.Key(), value) {
				set[r.Key()] = value
				break
			}
		}
	}
	return set
}

func matchesAll(requirements labels.Requirements, key, value string) bool {
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return r.Key() == key && !r.Matches(labels.Set{key: value})
	})
}
