package definition

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Synced returns an error until all definitions are listed.
func (r *Reconciler) Synced() error {
	if err := r.config.Discovery.Synced(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kinds) == 0 {
		return fmt.Errorf("the API server has none of the kinds of %s: kubectl apply -k manifests/crd", v1alpha1.GroupVersion)
	}
	for kind, cache := range r.kinds {
		if !cache.HasSynced() {
			return errors.Join(fmt.Errorf("%s objects are not listed yet", kind), cache.Err())
		}
	}
	return nil
}

// resourcesChanged watches new kinds of definition and enqueues all definitions.
func (r *Reconciler) resourcesChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, resource := range plan.Kinds {
		r.syncCache(kind, resource)
	}
	r.enqueueAll()
}

// schemasChanged enqueues all definitions, as schemas of parents, of children or of definitions
// themselves have changed.
func (r *Reconciler) schemasChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.enqueueAll()
}

// enqueueFailedTests enqueues the definitions whose scripts are held back by tests, as a CustomResourceDefinition has changed.
func (r *Reconciler) enqueueFailedTests() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, s := range r.states {
		if s.testsFailed.Load() {
			r.queue.Enqueue(key)
		}
	}
}

// enqueueAll enqueues every definition. The caller holds mu.
func (r *Reconciler) enqueueAll() {
	for kind, cache := range r.kinds {
		for _, object := range cache.List() {
			r.queue.Enqueue(plan.KeyOf(kind, object))
		}
	}
}

// notePlanned notes that a definition has been planned, and lets all begin if it was the last one of those that there were at the start.
func (r *Reconciler) notePlanned(s *runtimeState) {
	if r.known.Load() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s.planned = true
	for kind, cache := range r.kinds {
		if !cache.HasSynced() && cache.Err() == nil {
			return
		}
		for _, object := range cache.List() {
			s := r.states[plan.KeyOf(kind, object)]
			if r.config.Target.Matches(labels.Set(object.GetLabels())) && (s == nil || !s.planned) {
				return
			}
		}
	}
	r.known.Store(true)
	r.enqueueAll()
}

// syncCache opens or closes the cache of one kind of definition.
func (r *Reconciler) syncCache(kind, resource string) {
	found, err := r.config.Discovery.Find(v1alpha1.GroupVersion.String(), resource)
	cache := r.kinds[kind]
	switch {
	case err != nil && cache != nil:
		delete(r.kinds, kind)
		for _, object := range cache.List() {
			r.queue.Enqueue(plan.KeyOf(kind, object))
		}
		go cache.Close()
	case err == nil && cache == nil:
		cache = r.config.Environment.Pool.Open(found.GroupVersionResource)
		r.kinds[kind] = cache
		if !found.HasStatus {
			r.config.Environment.Log.Info("definitions of this kind have no status: their CustomResourceDefinition has no status subresource",
				"kind", kind)
		}
		if err := cache.Watch(func(e informer.Event) { r.queue.Enqueue(plan.KeyOf(kind, e.Object())) }); err != nil {
			r.config.Environment.Log.Error(err, "definitions are not followed", "kind", kind)
		}
	}
}

func (r *Reconciler) find(key controller.Key) *unstructured.Unstructured {
	r.mu.Lock()
	cache := r.kinds[key.Kind.Kind]
	r.mu.Unlock()
	if cache == nil {
		return nil
	}
	return cache.Get("", key.Name)
}
