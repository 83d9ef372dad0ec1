package informer

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Handle gives one user access to a shared cache. The objects that it returns are read-only.
type Handle struct {
	pool   *Pool
	scope  scope
	shared *sharedInformer

	mu       sync.Mutex
	handlers []*handler
	closed   bool
}

// Event is a change in a cache. An addition has no Old, a deletion no New. A deletion's Old may be older
// than the object's last state.
type Event struct {
	Old, New *unstructured.Unstructured
	// Replay means that the object was in the cache before Watch was called.
	Replay bool
}

// Object returns the newest state that the event has.
func (e Event) Object() *unstructured.Unstructured {
	if e.New != nil {
		return e.New
	}
	return e.Old
}

// Watch calls f for every object in the cache and then for every change, one after the other, until the
// handle is closed. Events on their way may still be delivered after that. f must return soon: it should
// only enqueue keys.
func (h *Handle) Watch(f func(Event)) error {
	added := &handler{f: f}
	added.version.Store(h.shared.version())
	registration, err := h.shared.informer.AddEventHandler(cache.ResourceEventHandlerDetailedFuncs{
		AddFunc:    func(obj any, replay bool) { added.handle(Event{New: object(obj), Replay: replay}) },
		UpdateFunc: func(before, after any) { added.handle(Event{Old: object(before), New: object(after)}) },
		DeleteFunc: func(obj any) { added.handle(Event{Old: object(obj)}) },
	})
	if err != nil {
		return fmt.Errorf("watching %s: %w", h.scope, err)
	}
	added.registration = registration
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers = append(h.handlers, added)
	return nil
}

// WaitForSync waits until the cache has synced. It returns false if ctx ends before.
func (h *Handle) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), h.shared.informer.HasSynced)
}

// Err returns why the resource can't be read at present, with the rule that is missing if it is forbidden, or nil.
func (h *Handle) Err() error {
	err := h.shared.err()
	if !apierrors.IsForbidden(err) {
		return err
	}
	reader := "the host"
	if !h.scope.account.IsHost() {
		reader = h.scope.account.String()
	}
	return fmt.Errorf("%s needs a rule {apiGroups: [%q], resources: [%s], verbs: [get, list, watch]}: %w", reader, h.scope.Group,
		h.scope.Resource, err)
}

// HasSynced reports whether the initial list is in the cache.
func (h *Handle) HasSynced() bool { return h.shared.informer.HasSynced() }

// Get returns an object, or nil. The namespace of a cluster-scoped object is empty.
func (h *Handle) Get(namespace, name string) *unstructured.Unstructured {
	obj, exists, err := h.shared.informer.GetIndexer().GetByKey(cache.NewObjectName(namespace, name).String())
	if err != nil || !exists {
		return nil
	}
	return object(obj)
}

// Lacks reports whether the cache has come to the version of an object and does not have it: it is gone. That is so even if no event has
// told, because it came and went while the watch was down.
func (h *Handle) Lacks(object *unstructured.Unstructured) bool {
	version := parseVersion(object.GetResourceVersion())
	if version == 0 || !h.HasSynced() || h.shared.version() < version || !h.scope.covers(object) {
		return false
	}
	cached := h.Get(object.GetNamespace(), object.GetName())
	return cached == nil || cached.GetUID() != object.GetUID()
}

// List returns all objects, unordered.
func (h *Handle) List() []*unstructured.Unstructured {
	return objects(h.shared.informer.GetIndexer().List())
}

// OwnedBy returns the objects whose controllerRef has that UID, unordered.
func (h *Handle) OwnedBy(owner types.UID) []*unstructured.Unstructured {
	return h.ByIndex(ownerIndex, string(owner))
}

// ByIndex returns the objects with a value in an index, unordered. It returns none if the index does not
// exist.
func (h *Handle) ByIndex(index, value string) []*unstructured.Unstructured {
	found, err := h.shared.informer.GetIndexer().ByIndex(index, value)
	if err != nil {
		return nil
	}
	return objects(found)
}

// AddIndex adds an index to the cache, for all of its users. It does nothing if the name exists: one
// name must always mean the same function.
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
		return fmt.Errorf("index %s of %s: %w", name, h.scope, err)
	}
	return nil
}

// Close removes the handle's watchers, and stops the informer if this was its last handle. It may be
// called more than once.
func (h *Handle) Close() {
	h.mu.Lock()
	if h.closed {
		h.mu.Unlock()
		return
	}
	h.closed = true
	handlers := h.handlers
	h.handlers = nil
	h.mu.Unlock()
	for _, handler := range handlers {
		// The only error is that the informer has stopped.
		_ = h.shared.informer.RemoveEventHandler(handler.registration)
	}
	h.pool.release(h)
}

// object unwraps an object of an informer.
func object(obj any) *unstructured.Unstructured {
	if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tombstone.Obj
	}
	if cached, ok := obj.(*cachedObject); ok {
		return cached.Unstructured
	}
	u, ok := obj.(*unstructured.Unstructured)
	if !ok {
		// Only objects of the dynamic client are put into these caches.
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

// ControllerOf returns the reference to the object's controlling owner, or nil. Unlike
// metav1.GetControllerOf, it does not copy all references first: it is called several times for each event.
func ControllerOf(object *unstructured.Unstructured) *metav1.OwnerReference {
	refs, _ := jsonvalue.ObjectIn(object.Object, "metadata")["ownerReferences"].([]any)
	for _, item := range refs {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil
		}
		if controller, _ := fields["controller"].(bool); !controller {
			continue
		}
		text := func(field string) string {
			value, _ := fields[field].(string)
			return value
		}
		ref := &metav1.OwnerReference{
			APIVersion: text("apiVersion"), Kind: text("kind"), Name: text("name"), UID: types.UID(text("uid")), Controller: new(true),
		}
		if block, ok := fields["blockOwnerDeletion"].(bool); ok {
			ref.BlockOwnerDeletion = &block
		}
		return ref
	}
	return nil
}
