package related

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Selection is what a rule of a customize answer selects, for who has no caches of all objects and asks for these alone.
type Selection struct {
	Resource discovery.Resource
	// Namespace is that of the objects. Empty means any.
	Namespace string
	// Names are the names of the objects, sorted. Nil means any.
	Names []string
	// Labels are those of the objects, and Namespaces those of their namespaces. Namespaces is nil if they do not matter.
	Labels, Namespaces labels.Selector
}

// Read returns what the rule selects in a cache of its resource, which has synced. namespaces is that of Namespaces, if these matter.
func (s *Selection) Read(cache, namespaces *informer.Handle) ([]*unstructured.Unstructured, error) {
	reader := reader{cache: cache, namespaceCache: namespaces, Rule: &Rule{
		resource: s.Resource, namespace: s.Namespace, selector: s.Labels, namespaces: s.Namespaces,
	}}
	if s.Names != nil {
		reader.names = maps.Collect(each(s.Names))
	}
	return reader.read()
}

// Selections returns what an answer of the customize hook about a parent selects, and what the parent names. Like a pass it refuses an
// answer that is invalid or beyond the limits.
func (c *Customize) Selections(parent *unstructured.Unstructured, body any) ([]Selection, error) {
	rules, err := c.Rules(variant.Answer{Call: variant.Call{Hook: Hook}, Body: body}, parent, c.Find)
	if err != nil {
		return nil, err
	}
	named, _, err := c.NamedRules(parent, c.Find)
	if err != nil {
		return nil, err
	}
	var all []Selection
	for _, rule := range append(rules, named...) {
		s := Selection{Resource: rule.resource, Namespace: rule.namespace, Labels: rule.selector, Namespaces: rule.namespaces}
		if rule.names != nil {
			s.Names = slices.Sorted(maps.Keys(rule.names))
		}
		all = append(all, s)
	}
	return all, nil
}
