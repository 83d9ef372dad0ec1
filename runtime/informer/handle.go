package informer

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
)

// Handle is one user's access to a shared cache. What it gives is read-only.
type Handle struct {
	pool     *Pool
	resource schema.GroupVersionResource
	shared   *shared

	mu            sync.Mutex
	registrations []cache.ResourceEventHandlerRegistration
	closed        bool
}

// Event is a change in a cache: an addition has no Old, a deletion no New.
// A deletion's Old may be older than the object's last state.
type Event struct {
	Old, New *unstructured.Unstructured
	// Replay says that the object was in the cache before the watcher came.
	Replay bool
}

// Object is the newest state that the event knows.
func (e Event) Object() *unstructured.Unstructured {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Watch calls f for every object there is and then for every change, one after
// the other, until the handle is closed; what was on its way then may still
// come. f must return soon: it enqueues and decides nothing.
func (h *Handle) Watch(f func(Event)) error {
	registration, err := h.shared.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, replay bool) { f(Event{New: object(obj), Replay: replay}) },
		UpdateFunc: func(before, after any) {
			if old, new := object(before), object(after); old.GetResourceVersion() != new.GetResourceVersion() {
				f(Event{Old: old, New: new})
			}
		},
		DeleteFunc: func(obj any) { f(Event{Old: object(obj)}) },
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", h.resource, err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.registrations = append(h.registrations, registration)
	return nil
}

// WaitForSync returns when the cache holds what the API server held, and gives
// false if ctx ended before.
func (h *Handle) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), h.shared.informer.HasSynced)
}

// Err says why the resource can't be read at present, or nil.
func (h *Handle) Err() error { return h.shared.err() }

// HasSynced says whether the cache holds what the API server held.
func (h *Handle) HasSynced() bool { return h.shared.informer.HasSynced() }

// Get gives an object, or nil. The namespace of a cluster-scoped one is empty.
func (h *Handle) Get(namespace, name string) *unstructured.Unstructured {
	obj, exists, err := h.shared.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !exists {
		return nil
	}
	return object(obj)
}

// List gives all objects, in no order.
func (h *Handle) List() []*unstructured.Unstructured {
	return objects(h.shared.informer.GetIndexer().List())
}

// OwnedBy gives the objects whose controllerRef has that UID, in no order.
func (h *Handle) OwnedBy(owner types.UID) []*unstructured.Unstructured {
	return h.ByIndex(ownerIndex, string(owner))
}

// ByIndex gives the objects under a value of an index, in no order. An index
// that does not exist gives none.
func (h *Handle) ByIndex(index, value string) []*unstructured.Unstructured {
	found, err := h.shared.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	return objects(found)
}

// AddIndex makes an index over the cache, for all of its users, unless one of
// that name is there. One name must always mean one function.
func (h *Handle) AddIndex(name string, values func(*unstructured.Unstructured) []string) error {
	h.pool.mu.Lock()
	defer h.pool.mu.Unlock()
	if _, exists := h.shared.informer.GetIndexer().GetIndexers()[name]; exists {
		return nil
	}
	err := h.shared.informer.AddIndexers(cache.Indexers{name: func(obj any) ([]string, error) {
		return values(object(obj)), nil
	}})
	if err != nil {
		return fmt.Errorf("index %s of %s: %w", name, h.resource, err)
	}
	return nil
}

// Close ends the handle's watchers, and the informer if this was its last
// handle. It may be called more than once.
func (h *Handle) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	registrations := h.registrations
	h.registrations = nil
	h.mu.Unlock()
	for _, registration := range registrations {
		// The only error is that the informer has stopped, which is as good.
		_ = h.shared.informer.RemoveEventHandler(registration)
	}
	h.pool.release(h.resource, h.shared)
}

// object unwraps what an informer hands out.
func object(obj any) *unstructured.Unstructured {
	if gone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = gone.Obj
	}
	if held, ok := obj.(*applied); ok {
		return held.Unstructured
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		// Only objects of the dynamic client are ever put into these caches.
		panic(fmt.Sprintf("informer holds a %T", obj))
	}
	return u
}

func objects(list []any) []*unstructured.Unstructured {
	result := make([]*unstructured.Unstructured, len(list))
	for i, obj := range list {
		result[i] = object(obj)
	}
	return result
}

// ControllerOf gives the reference of the object's controlling owner, or nil.
// Unlike metav1.GetControllerOf it makes no copy of the other references.
func ControllerOf(object *unstructured.Unstructured) *metav1.OwnerReference {
	m, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	return metav1.GetControllerOfNoCopy(m)
}
