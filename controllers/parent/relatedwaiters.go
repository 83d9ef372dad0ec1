package parent

import (
	"context"
	"errors"
	"maps"

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

// awaitServed records the resource that a parent waits for, in place of an earlier one.
func (r *relatedIndex) awaitServed(key controller.Key, name resourceName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unserved[key] = name
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
	served := map[resourceName]bool{}
	for key, name := range r.unserved {
		if _, asked := served[name]; !asked {
			_, err := find(name.apiVersion, name.resource)
			served[name] = err == nil
		}
		if served[name] {
			delete(r.unserved, key)
			r.queue(key)
		}
	}
	changed := map[schema.GroupVersionResource]bool{}
	for gvr, cache := range r.caches {
		if found, err := find(gvr.GroupVersion().String(), gvr.Resource); err != nil || found != cache.resource {
			changed[gvr] = true
		}
	}
	if len(changed) == 0 {
		return
	}
	asking := map[controller.Key]bool{}
	for _, rule := range r.rules {
		if changed[rule.resource.GroupVersionResource] {
			maps.Copy(asking, rule.parents)
		}
	}
	for key := range asking {
		r.drop(key)
	}
	r.enqueueAll(asking)
}

// wakeWhenSynced enqueues the parents that wait for a cache once it is synced, unless ctx ends
// before.
func (r *relatedIndex) wakeWhenSynced(ctx context.Context, resource schema.GroupVersionResource, cache *informer.Handle) {
	if !cache.WaitForSync(ctx) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueAll(r.unsynced.Take(resource))
}
