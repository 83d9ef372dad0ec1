package parent

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// collect returns the objects that the rules select, each once, and their kinds.
func (r *relatedIndex) collect(key controller.Key, rules []relatedRule) ([]*unstructured.Unstructured, []schema.GroupVersionKind, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsynced.drop(key)
	var objects []*unstructured.Unstructured
	var kinds []schema.GroupVersionKind
	seen := map[types.UID]bool{}
	for i := range rules {
		rule := &rules[i]
		if !slices.Contains(kinds, rule.resource.Kind) {
			kinds = append(kinds, rule.resource.Kind)
		}
		if unfilled, ok := r.unsyncedFor(rule); ok {
			r.unsynced.add(unfilled, key)
			return nil, nil, fmt.Errorf("%w: related %s are being listed", controller.ErrLater, unfilled.Resource)
		}
		found, err := r.selectByRule(rule)
		if err != nil {
			return nil, nil, err
		}
		for _, object := range found {
			if !seen[object.GetUID()] {
				seen[object.GetUID()] = true
				objects = append(objects, object)
			}
		}
	}
	sortByKey(objects)
	return objects, kinds, nil
}

// unsyncedFor returns the first resource of a rule whose cache is not synced, and whether there
// is one.
func (r *relatedIndex) unsyncedFor(rule *relatedRule) (schema.GroupVersionResource, bool) {
	gvr := rule.resource.GroupVersionResource
	switch cache := r.caches[gvr]; {
	case cache == nil || !cache.HasSynced():
		return gvr, true
	case rule.namespaces != nil && !r.namespaces.HasSynced():
		return namespaceResource, true
	default:
		return gvr, false
	}
}

// selectByRule returns the objects that one rule selects. Its caches must be synced.
func (r *relatedIndex) selectByRule(rule *relatedRule) ([]*unstructured.Unstructured, error) {
	cache := r.caches[rule.resource.GroupVersionResource]
	switch {
	case rule.names != nil:
		return r.getByName(cache, rule)
	case rule.namespaces == nil:
		return cache.Select(rule.namespace, rule.selector)
	}
	selected, err := r.namespaces.Select("", rule.namespaces)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, namespace := range selected {
		in, err := cache.Select(namespace.GetName(), rule.selector)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	return found, nil
}

// getByName returns objects by name.
func (r *relatedIndex) getByName(cache *relatedCache, rule *relatedRule) ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for name := range rule.names {
		if rule.namespace == "" && rule.resource.Namespaced {
			all, err := cache.Named(name)
			if err != nil {
				return nil, err
			}
			found = append(found, all...)
		} else if object := cache.Get(rule.namespace, name); object != nil {
			found = append(found, object)
		}
	}
	return found, nil
}
