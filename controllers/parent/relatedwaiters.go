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

// resourceName is a resource as a customize answer names it.
type resourceName struct{ apiVersion, resource string }

// findRelated returns the resource that a rule names. If it is not served, the parent is
// enqueued as soon as it is.
func (p *pass) findRelated(apiVersion, resource string) (discovery.Resource, error) {
	found, err := p.config.Customize.Find(apiVersion, resource)
	var missing *discovery.NotFoundError
	if !errors.As(err, &missing) {
		return found, err
	}
	p.related.awaitServed(p.key, resourceName{apiVersion, resource})
	return p.config.Customize.Find(apiVersion, resource) // It may have been served just before awaitServed.
}

// awaitServed records that a parent waits for a resource to be served.
func (r *relatedIndex) awaitServed(key controller.Key, name resourceName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unserved.add(name, key)
}

// ResourcesChanged enqueues the parents whose customize answers name resources that the API
// server has begun or ceased to serve.
func (r *Reconciler) ResourcesChanged() {
	if r.config.Customize != nil {
		r.related.resourcesChanged(r.config.Customize.Find)
	}
}

// resourcesChanged enqueues the parents that wait for resources that find now knows. It closes
// the caches of resources that are gone or have changed, as these would notice late that the
// resource is back, and has the hooks of their parents called again.
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

// wakeWhenSynced enqueues the parents that wait for a cache once it is synced, unless ctx ends
// before.
func (r *relatedIndex) wakeWhenSynced(ctx context.Context, resource schema.GroupVersionResource, cache *informer.Handle) {
	if !cache.WaitForSync(ctx) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueAll(r.unsynced.take(resource))
}

// enqueueAll enqueues parents. The lock must be held.
func (r *relatedIndex) enqueueAll(keys map[controller.Key]bool) {
	for key := range keys {
		r.queue(key)
	}
}
