package parent

import (
	"context"
	"errors"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// waiting holds the parents that wait for something, by what that is.
type waiters[T comparable] map[T]map[controller.Key]bool

func (w waiters[T]) add(what T, key controller.Key) {
	if w[what] == nil {
		w[what] = map[controller.Key]bool{}
	}
	w[what][key] = true
}

// take gives those who wait for something, once.
func (w waiters[T]) take(what T) map[controller.Key]bool {
	keys := w[what]
	delete(w, what)
	return keys
}

// drop forgets that a parent waits, for whatever.
func (w waiters[T]) drop(key controller.Key) {
	for what, keys := range w {
		if delete(keys, key); len(keys) == 0 {
			delete(w, what)
		}
	}
}

// resourceName is how a customize answer names a resource.
type resourceName struct{ apiVersion, resource string }

// findRelated finds a resource that a rule names. If the API server has none of the name,
// the parent is looked at again as soon as it has.
func (p *pass) findRelated(apiVersion, resource string) (discovery.Resource, error) {
	found, err := p.config.Customize.Find(apiVersion, resource)
	var missing *discovery.NotFoundError
	if !errors.As(err, &missing) {
		return found, err
	}
	p.related.awaitServed(p.key, resourceName{apiVersion, resource})
	return p.config.Customize.Find(apiVersion, resource) // It may have come just before.
}

// await notes that a parent waits for a resource to be served.
func (r *relatedIndex) awaitServed(key controller.Key, name resourceName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unserved.add(name, key)
}

// ResourcesChanged has those parents looked at again whose customize answers ask for
// resources that the API server has begun or ceased to serve.
func (r *Reconciler) ResourcesChanged() {
	if r.config.Customize != nil {
		r.related.resourcesChanged(r.config.Customize.Find)
	}
}

// resourcesChanged wakes those who wait for what find knows by now. Caches of resources
// that have gone, or are others than before, are closed: they would go on with what was,
// and notice with long delays that a resource of the name is back. Their parents are asked anew.
func (r *relatedIndex) resourcesChanged(find findFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for name := range r.unserved {
		if _, err := find(name.apiVersion, name.resource); err == nil {
			r.enqueueAll(r.unserved.take(name))
		}
	}
	for gvr, cache := range r.caches {
		if found, err := find(gvr.GroupVersion().String(), gvr.Resource); err == nil && found == cache.resource {
			continue
		}
		asking := map[controller.Key]bool{}
		for key, relation := range r.parents {
			if slices.ContainsFunc(relation.rules, func(rule relatedRule) bool { return rule.resource.GroupVersionResource == gvr }) {
				asking[key] = true
			}
		}
		for key := range asking {
			r.drop(key)
		}
		r.enqueueAll(asking)
	}
}

// wakeWhenFilled wakes those who wait for a cache, unless ctx ends before it is filled.
func (r *relatedIndex) wakeWhenSynced(ctx context.Context, resource schema.GroupVersionResource, cache *informer.Handle) {
	if !cache.WaitForSync(ctx) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueAll(r.unsynced.take(resource))
}

// wake enqueues parents; the lock is held.
func (r *relatedIndex) enqueueAll(keys map[controller.Key]bool) {
	for key := range keys {
		r.queue(key)
	}
}
