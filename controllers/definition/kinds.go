package definition

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
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
		return errors.New("the API server has no kind of definition: kubectl apply -k manifests/crd")
	}
	listed, forbidden := 0, error(nil)
	for of, cache := range r.kinds {
		switch {
		// They need not be hosted: a role may be older than they are, and who rules one of the namespaces is not to stop the others. The
		// log has it.
		case v1alpha1.IsNamespaced(of.Group) && apierrors.IsForbidden(cache.Err()):
			forbidden = cache.Err()
		case !cache.HasSynced():
			return errors.Join(fmt.Errorf("%s are not listed yet", of), cache.Err())
		default:
			listed++
		}
	}
	if listed == 0 {
		return forbidden
	}
	return nil
}

// resourcesChanged watches new kinds of definition and enqueues all definitions.
func (r *Reconciler) resourcesChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.kinds == nil { // It is closed.
		return
	}
	for _, kind := range v1alpha1.DefinitionTypes(r.config.Admission.Namespaces...) {
		for _, namespace := range r.namespaces() {
			r.syncCache(definitions{kind, namespace})
		}
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
	for _, cache := range r.kinds {
		for _, object := range cache.List() {
			r.queue.Enqueue(apply.KeyOf(object))
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
	for _, cache := range r.kinds {
		if !cache.HasSynced() && cache.Err() == nil {
			return
		}
		for _, object := range cache.List() {
			key := apply.KeyOf(object)
			s, isTarget := r.states[key], r.config.Admission.Target.Matches(labels.Set(object.GetLabels()))
			if isTarget && r.hosts(key) && (s == nil || !s.planned) {
				return
			}
		}
	}
	r.known.Store(true)
	r.enqueueAll()
}

// definitions are those of a kind in a namespace, which is empty for all.
type definitions struct {
	schema.GroupVersionKind
	namespace string
}

// String returns what the definitions are called in messages.
func (d definitions) String() string {
	name := v1alpha1.DefinitionResource(d.GroupVersionKind).GroupResource().String()
	if d.namespace != "" {
		name += " in namespace " + d.namespace
	}
	return name
}

// namespaces returns the namespaces of the definitions that are hosted. One that is empty stands for all.
func (r *Reconciler) namespaces() []string {
	if len(r.config.Admission.Namespaces) > 0 {
		return r.config.Admission.Namespaces
	}
	return []string{""}
}

// syncCache opens or closes the cache of definitions.
func (r *Reconciler) syncCache(of definitions) {
	found, err := r.resourceOf(of.GroupVersionKind)
	cache := r.kinds[of]
	switch {
	case err != nil && cache != nil:
		delete(r.kinds, of)
		for _, object := range cache.List() {
			r.queue.Enqueue(apply.KeyOf(object))
		}
		go cache.Close()
	case err == nil && cache == nil:
		cache = r.config.Environment.Pool.In(of.namespace).Open(found.GroupVersionResource)
		r.kinds[of] = cache
		if !found.HasStatus {
			r.config.Environment.Log.Info("definitions of this kind have no status: their CustomResourceDefinition has no status subresource",
				"kind", of.Kind)
		}
		if err := cache.Watch(func(e informer.Event) { r.queue.Enqueue(apply.KeyOf(e.Object())) }); err != nil {
			r.config.Environment.Log.Error(err, "definitions are not followed", "kind", of.Kind)
		}
	}
}

func (r *Reconciler) find(key controller.Key) *unstructured.Unstructured {
	in := ""
	if len(r.config.Admission.Namespaces) > 0 {
		in = key.Namespace
	}
	r.mu.Lock()
	cache := r.kinds[definitions{key.Kind, in}]
	r.mu.Unlock()
	if cache == nil {
		return nil
	}
	if found := cache.Get(key.Namespace, key.Name); found != nil {
		return v1alpha1.SetNamespaces(found)
	}
	return nil
}

// resourceOf returns the resource of a kind of definition, or an error if it is not served.
func (r *Reconciler) resourceOf(kind schema.GroupVersionKind) (discovery.Resource, error) {
	resource := v1alpha1.DefinitionResource(kind)
	return r.config.Discovery.Find(resource.GroupVersion().String(), resource.Resource)
}
