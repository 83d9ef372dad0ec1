package waiters

import (
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Namespaces holds the parents that wait for namespaces in which children could not be
// created. Namespaces are watched only while a parent waits.
type Namespaces struct {
	pool    *informer.Pool
	watchMu sync.Mutex // held while the watch is started or stopped; not by events

	mu      sync.Mutex
	Queue   func(controller.Key) // set by Watch, before there is any pass
	parents Sets[string]
	byKey   map[controller.Key]map[string]bool
	cache   *informer.Handle // nil while no parent waits
}

// NewNamespaces returns an empty record, which watches namespaces by a pool while a parent waits for one.
func NewNamespaces(pool *informer.Pool) *Namespaces {
	return &Namespaces{pool: pool, parents: Sets[string]{}, byKey: map[controller.Key]map[string]bool{}}
}

// Set replaces the namespaces that a parent waits for.
func (w *Namespaces) Set(key controller.Key, namespaces map[string]bool) error {
	w.mu.Lock()
	concerned := len(namespaces) > 0 || len(w.byKey[key]) > 0
	w.mu.Unlock()
	if !concerned {
		return nil
	}
	w.watchMu.Lock()
	defer w.watchMu.Unlock()
	opened, closed := w.replace(key, namespaces)
	if closed != nil {
		closed.Close()
	}
	if opened != nil {
		return opened.Watch(w.event)
	}
	return nil
}

// replace updates the maps. It returns the caches that the caller must watch or close without
// the lock.
func (w *Namespaces) replace(key controller.Key, namespaces map[string]bool) (opened, closed *informer.Handle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(key)
	for namespace := range namespaces {
		w.parents.Add(namespace, key)
		w.byKey[key] = namespaces
	}
	switch wanted := len(w.byKey) > 0; {
	case wanted && w.cache == nil:
		w.cache = w.pool.Whole().Open(NamespaceResource)
		return w.cache, nil
	case !wanted:
		closed, w.cache = w.cache, nil
	}
	return nil, closed
}

// Forget drops a deleted parent.
func (w *Namespaces) Forget(key controller.Key) {
	_ = w.Set(key, nil) // Only starting a watch can fail.
}

func (w *Namespaces) drop(key controller.Key) {
	for namespace := range w.byKey[key] {
		w.parents.remove(namespace, key)
	}
	delete(w.byKey, key)
}

// event enqueues the waiting parents when a namespace is created, and when a terminating one is
// gone. A replayed namespace counts as created: it came before the watch.
func (w *Namespaces) event(e informer.Event) {
	if e.New != nil && !isUsable(e.New) || e.New != nil && e.Old != nil && isUsable(e.Old) && e.Old.GetUID() == e.New.GetUID() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.parents[e.Object().GetName()] {
		w.Queue(key)
	}
}

// isUsable reports whether objects can be created in a namespace.
func isUsable(namespace *unstructured.Unstructured) bool {
	return namespace.GetDeletionTimestamp() == nil
}

// IsUnusable reports whether a namespace that a parent waits for is known to be still unusable,
// so that a creation would fail.
func (w *Namespaces) IsUnusable(key controller.Key, namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.byKey[key][namespace] || w.cache == nil || !w.cache.HasSynced() || w.cache.Err() != nil {
		return false
	}
	found := w.cache.Get("", namespace)
	return found == nil || !isUsable(found)
}

// Close ends the watch.
func (w *Namespaces) Close() {
	w.mu.Lock()
	cache := w.cache
	w.cache, w.parents, w.byKey = nil, Sets[string]{}, map[controller.Key]map[string]bool{}
	w.mu.Unlock()
	if cache != nil {
		cache.Close()
	}
}

// NamespaceResource is also the resource in the index keys of namespace selectors.
var NamespaceResource = corev1.SchemeGroupVersion.WithResource("namespaces")
