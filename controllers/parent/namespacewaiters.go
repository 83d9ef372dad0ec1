package parent

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
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
	queue   Queue // set by Watch, before there is any pass
	parents parentSets[string]
	byKey   map[controller.Key]map[string]bool
	cache   *informer.Handle // nil while no parent waits
}

func newNamespaceWaiters(pool *informer.Pool) *namespaceWaiters {
	return &namespaceWaiters{pool: pool, parents: parentSets[string]{}, byKey: map[controller.Key]map[string]bool{}}
}

// set replaces the namespaces that a parent waits for.
func (a *namespaceWaiters) set(key controller.Key, namespaces map[string]bool) error {
	a.mu.Lock()
	concerned := len(namespaces) > 0 || len(a.byKey[key]) > 0
	a.mu.Unlock()
	if !concerned {
		return nil
	}
	a.watchMu.Lock()
	defer a.watchMu.Unlock()
	opened, closed := a.replace(key, namespaces)
	if closed != nil {
		closed.Close()
	}
	if opened != nil {
		return opened.Watch(a.event)
	}
	return nil
}

// replace updates the maps. It returns the caches that the caller must watch or close without
// the lock.
func (a *namespaceWaiters) replace(key controller.Key, namespaces map[string]bool) (opened, closed *informer.Handle) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(key)
	for namespace := range namespaces {
		a.parents.add(namespace, key)
		a.byKey[key] = namespaces
	}
	switch wanted := len(a.byKey) > 0; {
	case wanted && a.cache == nil:
		a.cache = a.pool.Open(namespaceResource)
		return a.cache, nil
	case !wanted:
		closed, a.cache = a.cache, nil
	}
	return nil, closed
}

// forget drops a deleted parent.
func (a *namespaceWaiters) forget(key controller.Key) {
	_ = a.set(key, nil) // Only starting a watch can fail.
}

func (a *namespaceWaiters) drop(key controller.Key) {
	for namespace := range a.byKey[key] {
		a.parents.remove(namespace, key)
	}
	delete(a.byKey, key)
}

// event enqueues the waiting parents when a namespace is created, and when a terminating one is
// gone. A replayed namespace counts as created: it came before the watch.
func (a *namespaceWaiters) event(e informer.Event) {
	if e.New != nil && !isUsable(e.New) || e.New != nil && e.Old != nil && isUsable(e.Old) && e.Old.GetUID() == e.New.GetUID() {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for key := range a.parents[e.Object().GetName()] {
		a.queue.EnqueueSoon(key, debounce)
	}
}

// isUsable reports whether objects can be created in a namespace.
func isUsable(namespace *unstructured.Unstructured) bool {
	return namespace.GetDeletionTimestamp() == nil
}

// isUnusable reports whether a namespace that a parent waits for is known to be still unusable,
// so that a creation would fail.
func (a *namespaceWaiters) isUnusable(key controller.Key, namespace string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.byKey[key][namespace] || a.cache == nil || !a.cache.HasSynced() || a.cache.Err() != nil {
		return false
	}
	found := a.cache.Get("", namespace)
	return found == nil || !isUsable(found)
}

// close ends the watch.
func (a *namespaceWaiters) close() {
	a.mu.Lock()
	cache := a.cache
	a.cache, a.parents, a.byKey = nil, parentSets[string]{}, map[controller.Key]map[string]bool{}
	a.mu.Unlock()
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
	return &failure{reason: variant.ReasonApplyFailed, retry: controller.NamespaceMissing, err: err}
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
