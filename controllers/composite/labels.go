package composite

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// templateLabels returns the labels that metacontroller sets on revisions.
func templateLabels(p *unstructured.Unstructured) map[string]string {
	given, _, _ := unstructured.NestedStringMap(p.Object, "spec", "template", "metadata", "labels")
	return given
}

// labelsMatching returns labels that the selector matches, so that the objects are found again
// (metacontroller's, those of the parent's template, may not match). If an expression leaves
// a choice, it takes the preferred value if that matches, or else the first one that does.
func labelsMatching(selector labels.Selector, preferred map[string]string) map[string]string {
	set := map[string]string{}
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		switch r.Operator() {
		case selection.NotIn, selection.NotEquals, selection.DoesNotExist:
			continue // An absent label matches.
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
