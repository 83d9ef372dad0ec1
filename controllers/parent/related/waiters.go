package related

import (
	"context"
	"maps"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// resourceName is a resource as a customize answer names it.
type resourceName struct{ apiVersion, resource string }

// AwaitResource records the resource that a parent waits for, in place of an earlier one.
func (r *Index) AwaitResource(key controller.Key, apiVersion, resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.awaited[key] = resourceName{apiVersion, resource}
}

// ResourcesChanged enqueues the parents that wait for resources that find now knows. It closes
// the caches of resources that are gone or have changed, as these would notice late that the
// resource is back, and has the hooks of their parents called again.
func (r *Index) ResourcesChanged(find findFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	served := map[resourceName]bool{} // Many parents may wait for one resource: it is looked up once.
	for key, name := range r.awaited {
		if _, asked := served[name]; !asked {
			_, err := find(name.apiVersion, name.resource)
			served[name] = err == nil
		}
		if served[name] {
			delete(r.awaited, key)
			r.Queue(key)
		}
	}
	// Also a resource that is there again may be another one, such as with another scope.
	changed := map[schema.GroupVersionResource]bool{}
	for id, cache := range r.caches {
		if found, err := find(id.GroupVersion().String(), id.Resource); err != nil || found != cache.resource {
			changed[id.GroupVersionResource] = true
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
	for key := range asking { // The last rule of a cache closes it. The next pass of the parent asks for a new one.
		r.drop(key)
	}
	r.enqueueAll(asking)
}

// wakeWhenSynced enqueues the parents that wait for a cache once it is synced, unless ctx ends
// before.
func (r *Index) wakeWhenSynced(ctx context.Context, resource schema.GroupVersionResource, cache *informer.Handle) {
	if !cache.WaitForSync(ctx) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueAll(r.unsynced.Take(resource))
}
