package parent

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// namespaceWaiters holds the parents that wait for namespaces in which children could not be
// created. Namespaces are watched only while a parent waits.
type namespaceWaiters struct {
	pool    *informer.Pool
	watchMu sync.Mutex // held while the watch is started or stopped; not by events

	mu      sync.Mutex
	queue   func(controller.Key) // set by Watch, before there is any pass
	parents parentSets[string]
	byKey   map[controller.Key]map[string]bool
	cache   *informer.Handle // nil while no parent waits
}

func newNamespaceWaiters(pool *informer.Pool) *namespaceWaiters {
	return &namespaceWaiters{pool: pool, parents: parentSets[string]{}, byKey: map[controller.Key]map[string]bool{}}
}

// set replaces the namespaces that a parent waits for.
func (w *namespaceWaiters) set(key controller.Key, namespaces map[string]bool) error {
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
func (w *namespaceWaiters) replace(key controller.Key, namespaces map[string]bool) (opened, closed *informer.Handle) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(key)
	for namespace := range namespaces {
		w.parents.add(namespace, key)
		w.byKey[key] = namespaces
	}
	switch wanted := len(w.byKey) > 0; {
	case wanted && w.cache == nil:
		w.cache = w.pool.Open(namespaceResource)
		return w.cache, nil
	case !wanted:
		closed, w.cache = w.cache, nil
	}
	return nil, closed
}

// forget drops a deleted parent.
func (w *namespaceWaiters) forget(key controller.Key) {
	_ = w.set(key, nil) // Only starting a watch can fail.
}

func (w *namespaceWaiters) drop(key controller.Key) {
	for namespace := range w.byKey[key] {
		w.parents.remove(namespace, key)
	}
	delete(w.byKey, key)
}

// event enqueues the waiting parents when a namespace is created, and when a terminating one is
// gone. A replayed namespace counts as created: it came before the watch.
func (w *namespaceWaiters) event(e informer.Event) {
	if e.New != nil && !isUsable(e.New) || e.New != nil && e.Old != nil && isUsable(e.Old) && e.Old.GetUID() == e.New.GetUID() {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.parents[e.Object().GetName()] {
		w.queue(key)
	}
}

// isUsable reports whether objects can be created in a namespace.
func isUsable(namespace *unstructured.Unstructured) bool {
	return namespace.GetDeletionTimestamp() == nil
}

// isUnusable reports whether a namespace that a parent waits for is known to be still unusable,
// so that a creation would fail.
func (w *namespaceWaiters) isUnusable(key controller.Key, namespace string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.byKey[key][namespace] || w.cache == nil || !w.cache.HasSynced() || w.cache.Err() != nil {
		return false
	}
	found := w.cache.Get("", namespace)
	return found == nil || !isUsable(found)
}

// close ends the watch.
func (w *namespaceWaiters) close() {
	w.mu.Lock()
	cache := w.cache
	w.cache, w.parents, w.byKey = nil, parentSets[string]{}, map[controller.Key]map[string]bool{}
	w.mu.Unlock()
	if cache != nil {
		cache.Close()
	}
}

// filterByNamespace drops creations in namespaces that are known to be unusable. It returns an
// error for each.
func (p *pass) filterByNamespace(changes []apply.Change) (kept []apply.Change, errs []error) {
	for _, change := range changes {
		if change.Action == apply.ActionCreate && change.Key.Namespace != "" && p.namespaceWaiters.isUnusable(p.key, change.Key.Namespace) {
			err := fmt.Errorf("%s: namespace %q is not there, or is being deleted", change.Key, change.Key.Namespace)
			errs = append(errs, p.namespaceMissing(change.Key, err))
			continue
		}
		kept = append(kept, change)
	}
	return kept, errs
}

// namespaceMissing records that the parent waits for the namespace of a child, and returns the
// error. It returns nil for a parent that is deleted with its own namespace: a failure would
// keep its finalizer, and so the namespace.
func (p *pass) namespaceMissing(child apply.Key, err error) error {
	if p.missingNamespaces == nil {
		p.missingNamespaces = map[string]bool{}
	}
	p.missingNamespaces[child.Namespace] = true
	if child.Namespace == p.parent.GetNamespace() {
		p.env.Log.V(1).Info("child not created in a namespace that goes",
			"definition", p.config.Definition, "parent", p.key.String(), "child", child.String())
		return nil
	}
	err = fmt.Errorf("%w: it is made when there is a namespace %s that is not being deleted: create it, or let the hook choose another",
		err, child.Namespace)
	return &failure.Error{Reason: variant.ReasonApplyFailed, Retry: controller.NamespaceMissing, Err: err}
}

// awaitNamespaces has the parent synced when a namespace comes that it waits for.
func (p *pass) awaitNamespaces(ctx context.Context) {
	if ctx.Err() != nil {
		return
	}
	if err := p.namespaceWaiters.set(p.key, p.missingNamespaces); err != nil {
		p.env.Log.Error(err, "namespaces can't be watched", "definition", p.config.Definition)
	}
}
