package related

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// reader selects the objects of a rule from its caches, which are synced.
type reader struct {
	*Rule
	cache, namespaceCache *informer.Handle
}

// Collect returns the objects that the rules select, each once and in no order, and their kinds.
func (r *Index) Collect(key controller.Key, rules []*Rule) ([]*unstructured.Unstructured, []schema.GroupVersionKind, error) {
	readers, err := r.readers(key, rules)
	if err != nil {
		return nil, nil, err
	}
	var objects []*unstructured.Unstructured
	var kinds []schema.GroupVersionKind
	seen := map[types.UID]bool{}
	for _, reader := range readers {
		if !slices.Contains(kinds, reader.resource.Kind) {
			kinds = append(kinds, reader.resource.Kind)
		}
		found, err := reader.read()
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
	return objects, kinds, nil
}

// readers returns a reader for each rule. If a cache is not synced, it returns ErrLater, and the
// parent is enqueued when it is.
func (r *Index) readers(key controller.Key, rules []*Rule) ([]reader, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unsynced.Drop(key)
	readers := make([]reader, len(rules))
	for i, rule := range rules {
		if unfilled, ok := r.unsyncedFor(rule); ok {
			r.unsynced.Add(unfilled, key)
			if err := r.forbidden(unfilled); err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("%w: related %s are being listed", controller.ErrLater, unfilled.Resource)
		}
		readers[i] = reader{rule, r.cacheOf(rule).Handle, r.namespaces}
	}
	return readers, nil
}

// unsyncedFor returns the first resource of a rule whose cache is not synced, and whether there
// is one.
func (r *Index) unsyncedFor(rule *Rule) (schema.GroupVersionResource, bool) {
	gvr := rule.resource.GroupVersionResource
	switch cache := r.cacheOf(rule); {
	case cache == nil || !cache.HasSynced():
		return gvr, true
	case rule.namespaces != nil && !r.namespaces.HasSynced():
		return waiters.NamespaceResource, true
	default:
		return gvr, false
	}
}

// forbidden returns an error if the API server does not let the host list a resource.
func (r *Index) forbidden(resource schema.GroupVersionResource) error {
	cache := r.namespaces
	for id, related := range r.caches {
		if id.GroupVersionResource == resource && !related.HasSynced() {
			cache = related.Handle
		}
	}
	if cache == nil || !apierrors.IsForbidden(cache.Err()) {
		return nil
	}
	return &failure.Error{
		Reason: variant.ReasonResourceUnreadable, Retry: controller.Invalid,
		Err: fmt.Errorf("related %s, which the customize hook or nameFrom asks for: %w", resource.Resource, cache.Err()),
	}
}

// read returns the objects that the rule selects.
func (r *reader) read() ([]*unstructured.Unstructured, error) {
	switch {
	case r.names != nil:
		return r.readByName()
	case r.namespaces == nil:
		return r.cache.Select(r.namespace, r.selector)
	case r.namespace != "":
		if !r.selectsNamespace(r.namespaceCache.Get("", r.namespace)) {
			return nil, nil
		}
		return r.cache.Select(r.namespace, r.selector)
	}
	selected, err := r.namespaceCache.Select("", r.namespaces)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, namespace := range selected {
		in, err := r.cache.Select(namespace.GetName(), r.selector)
		if err != nil {
			return nil, err
		}
		found = append(found, in...)
	}
	return found, nil
}

// readByName returns the objects of the rule's names.
func (r *reader) readByName() ([]*unstructured.Unstructured, error) {
	var found []*unstructured.Unstructured
	for name := range r.names {
		if r.namespace == "" && r.resource.Namespaced {
			all, err := r.cache.Named(name)
			if err != nil {
				return nil, err
			}
			found = append(found, all...)
		} else if object := r.cache.Get(r.namespace, name); object != nil {
			found = append(found, object)
		}
	}
	return slices.DeleteFunc(found, func(object *unstructured.Unstructured) bool { return !r.matchesLabels(object) }), nil
}

// matchesLabels reports whether the selectors of the rule select an object.
func (r *reader) matchesLabels(object *unstructured.Unstructured) bool {
	if !r.selector.Empty() && !r.selector.Matches(labels.Set(object.GetLabels())) {
		return false
	}
	return r.namespaces == nil || r.selectsNamespace(r.namespaceCache.Get("", object.GetNamespace()))
}
