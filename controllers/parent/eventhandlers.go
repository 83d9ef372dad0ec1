package parent

import (
	"errors"
	"hash/fnv"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Queue takes the keys of parents to sync.
type Queue interface {
	Enqueue(key controller.Key)
	EnqueueSoon(key controller.Key, gather time.Duration)
	EnqueueAfter(key controller.Key, after time.Duration)
}

// debounce is how long events of children, inputs and related objects are gathered, so that a
// burst costs one pass.
const debounce = 10 * time.Millisecond

// Register makes other definitions of the process know of this one before Watch does.
func (r *Reconciler) Register() { r.env.Registry.Add(r.peer) }

// isGone reports whether the cache of a child's kind has come past the child and does not have it.
func (r *Reconciler) isGone(child *unstructured.Unstructured) bool {
	kind, source := child.GroupVersionKind(), r.sources.Revisions
	if of := r.sources.ChildrenOf(kind); of != nil {
		source = of
	}
	return source != nil && source.Kind == kind && source.Cache.Lacks(child)
}

// Watch enqueues all parents, and from then on those that an event affects. It is called once,
// before the queue is processed.
func (r *Reconciler) Watch(queue Queue) error {
	enqueueSoon := func(key controller.Key) { queue.EnqueueSoon(key, debounce) }
	r.related.Queue, r.namespaceWaiters.Queue = enqueueSoon, enqueueSoon
	r.pendingWrites.Unconfirmed = func(created *unstructured.Unstructured) { r.enqueueOwner(queue, created) }
	r.pendingWrites.Lacks = r.isGone
	r.Register()
	var errs []error
	watch := func(cache *informer.Handle, f func(informer.Event)) { errs = append(errs, cache.Watch(f)) }
	for i := range r.sources.Parents {
		watch(r.sources.Parents[i].Cache, func(e informer.Event) { r.parentEvent(queue, &r.sources.Parents[i], e) })
	}
	for i := range r.sources.Children {
		watch(r.sources.Children[i].Cache, func(e informer.Event) { r.childEvent(queue, e) })
	}
	for i := range r.sources.Inputs {
		watch(r.sources.Inputs[i].Cache, func(e informer.Event) { r.inputEvent(queue, &r.sources.Inputs[i], e) })
	}
	if r.sources.Revisions != nil {
		watch(r.sources.Revisions.Cache, func(e informer.Event) { r.ownedEvent(queue, e) })
	}
	if r.sources.Namespaces != nil {
		watch(r.sources.Namespaces, func(e informer.Event) { r.namespaceEvent(queue, e) })
	}
	return errors.Join(errs...)
}

// Resync enqueues all parents behind fresh events, one per interval.
func (r *Reconciler) Resync(queue Queue, interval time.Duration) {
	r.ResyncSelected(queue, interval, func(*unstructured.Unstructured) bool { return true })
}

// ResyncSelected does so with the parents that selects returns true for.
func (r *Reconciler) ResyncSelected(queue Queue, interval time.Duration, selects func(parent *unstructured.Unstructured) bool) {
	var after time.Duration
	for i := range r.sources.Parents {
		for _, parent := range r.sources.Parents[i].Cache.List() {
			if r.sources.Parents[i].Manages(parent) && selects(parent) {
				queue.EnqueueAfter(keyOf(r.sources.Parents[i].Kind, parent), after)
				after += interval
			}
		}
	}
}

// parentEvent enqueues a parent that is or was selected.
func (r *Reconciler) parentEvent(queue Queue, source *sources.Parent, e informer.Event) {
	r.pendingWrites.Observe(e)
	if e.Old == nil || e.New == nil || source.Manages(e.Old) != source.Manages(e.New) {
		r.noteParent(source, e)
		r.config.Changed()
	}
	if e.New != nil && source.IgnoresStatus(e.New) && onlyStatusChanged(e) {
		return
	}
	if source.Manages(e.Object()) || e.Old != nil && source.Manages(e.Old) {
		queue.Enqueue(keyOf(source.Kind, e.Object()))
	}
}

// onlyStatusChanged reports whether ignoreStatusChanges drops an update (section 3.3 of the
// specification).
func onlyStatusChanged(e informer.Event) bool {
	return e.Old != nil && e.New != nil && e.Old.GetUID() == e.New.GetUID() && e.New.GetDeletionTimestamp() == nil &&
		e.Old.GetGeneration() == e.New.GetGeneration() &&
		maps.Equal(e.Old.GetLabels(), e.New.GetLabels()) &&
		maps.Equal(e.Old.GetAnnotations(), e.New.GetAnnotations())
}

// childEvent enqueues the old and new owner of a child, and the parents that might adopt an
// orphan.
func (r *Reconciler) childEvent(queue Queue, e informer.Event) {
	r.ownedEvent(queue, e)
	if !e.Replay && e.New != nil && informer.ControllerOf(e.New) == nil && e.New.GetDeletionTimestamp() == nil {
		r.enqueueAdopters(queue, e.New)
	}
}

// ownedEvent enqueues the old and new owner of a child or a ControllerRevision. Replayed objects
// enqueue nothing: their parents are replayed too.
func (r *Reconciler) ownedEvent(queue Queue, e informer.Event) {
	r.pendingWrites.Observe(e)
	if e.Replay {
		return
	}
	if e.New == nil {
		r.history.Forget(apply.KeyOf(e.Old))
	}
	for key := range r.creationWaiters.Take(apply.KeyOf(e.Object())) {
		queue.EnqueueSoon(key, debounce)
	}
	var last *metav1.OwnerReference
	for _, object := range []*unstructured.Unstructured{e.New, e.Old} {
		if object == nil {
			continue
		}
		owner := informer.ControllerOf(object)
		if owner == nil || last != nil && last.UID == owner.UID {
			continue // Most often the new and the old one are the same.
		}
		r.enqueueReferenced(queue, object, owner)
		last = owner
	}
}

// enqueueOwner enqueues the parent that the object's controllerRef names.
func (r *Reconciler) enqueueOwner(queue Queue, object *unstructured.Unstructured) {
	if ref := informer.ControllerOf(object); ref != nil {
		r.enqueueReferenced(queue, object, ref)
	}
}

// enqueueReferenced enqueues the parent that a controllerRef of an object names, if it is a parent of
// the definition with the same UID.
func (r *Reconciler) enqueueReferenced(queue Queue, object *unstructured.Unstructured, ref *metav1.OwnerReference) {
	source := r.referencedSource(ref)
	if source == nil || r.pendingWrites.AwaitsContent(ref.UID) {
		return // Other events are awaited, too: the last one enqueues it, or the time does that they are awaited at most.
	}
	namespace := ""
	if source.Namespaced {
		namespace = object.GetNamespace()
	}
	if parent := source.Cache.Get(namespace, ref.Name); parent != nil && parent.GetUID() == ref.UID && source.Manages(parent) {
		queue.EnqueueSoon(keyOf(source.Kind, parent), debounce)
	}
}

// referencedSource returns the source of the kind that ref names, in any version.
func (r *Reconciler) referencedSource(ref *metav1.OwnerReference) *sources.Parent {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	return r.sources.ParentsOf(schema.GroupKind{Group: gv.Group, Kind: ref.Kind})
}

// enqueueAdopters enqueues the parents whose selector matches an orphan. It finds them with the
// index of indexParents.
func (r *Reconciler) enqueueAdopters(queue Queue, orphan *unstructured.Unstructured) {
	if r.config.SelectorIndex == "" || len(r.config.Inputs) > 0 {
		return
	}
	set := orphan.GetLabels()
	for i := range r.sources.Parents {
		source := &r.sources.Parents[i]
		for _, pair := range informer.PairsOf(set) {
			for _, parent := range source.Cache.ByIndex(r.config.SelectorIndex, pair) {
				if r.canAdopt(source, parent, orphan.GetNamespace(), set) {
					queue.EnqueueSoon(keyOf(source.Kind, parent), debounce)
				}
			}
		}
	}
}

func (r *Reconciler) canAdopt(source *sources.Parent, parent *unstructured.Unstructured, namespace string, set labels.Set) bool {
	if source.Namespaced && parent.GetNamespace() != namespace || !source.Manages(parent) {
		return false
	}
	selector, err := r.config.Selector(parent)
	return err == nil && selector.Matches(set)
}

// indexParents indexes parents by selector, so that orphans find their possible adopters, and
// inputs their parents.
func (r *Reconciler) indexParents() error {
	if r.config.SelectorIndex == "" {
		return nil
	}
	for i := range r.sources.Parents {
		err := r.sources.Parents[i].Cache.AddIndex(r.config.SelectorIndex, func(parent *unstructured.Unstructured) []string {
			selector, err := r.config.Selector(parent)
			if err != nil {
				return nil
			}
			return informer.Pairs(selector)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func keyOf(kind schema.GroupVersionKind, parent *unstructured.Unstructured) controller.Key {
	return controller.Key{Kind: kind, Namespace: parent.GetNamespace(), Name: parent.GetName()}
}

// jitter returns a delay between nine tenths of period and period. It is constant for a UID, so
// that parents of the same age are not resynced at once.
func jitter(uid types.UID, period time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return period - period/10*time.Duration(h.Sum32()%1024)/1024
}

// ResourcesChanged enqueues the parents whose customize answers name resources that the API
// server has begun or ceased to serve.
func (r *Reconciler) ResourcesChanged() {
	if r.config.Customize != nil {
		r.related.ResourcesChanged(r.config.Customize.Find)
	}
}

// inputEvent enqueues the parents of which an object is or was an input.
func (r *Reconciler) inputEvent(queue Queue, source *sources.Input, e informer.Event) {
	if e.Replay {
		return
	}
	for _, input := range []*unstructured.Unstructured{e.Old, e.New} {
		if input != nil {
			r.enqueueSelecting(queue, input, func(parent *unstructured.Unstructured) bool {
				return source.Selects(parent, input, r.sources.NamespaceLabels)
			})
		}
	}
}

// enqueueSelecting enqueues the parents whose selector matches an input, and for which also holds. It finds them with the index of
// indexParents.
func (r *Reconciler) enqueueSelecting(queue Queue, input *unstructured.Unstructured, also func(parent *unstructured.Unstructured) bool) {
	set := labels.Set(input.GetLabels())
	for i := range r.sources.Parents {
		for _, pair := range informer.PairsOf(set) {
			for _, parent := range r.sources.Parents[i].Cache.ByIndex(r.config.SelectorIndex, pair) {
				selector, err := r.config.Selector(parent)
				if r.sources.Parents[i].Manages(parent) && err == nil && selector.Matches(set) && also(parent) {
					queue.EnqueueSoon(keyOf(r.sources.Parents[i].Kind, parent), debounce)
				}
			}
		}
	}
}

// namespaceEvent enqueues the parents that may select objects in a namespace, when that comes or goes, or its labels change.
func (r *Reconciler) namespaceEvent(queue Queue, e informer.Event) {
	if e.Replay || e.Old != nil && e.New != nil && maps.Equal(related.LabelsOf(e.Old), related.LabelsOf(e.New)) {
		return
	}
	for i := range r.sources.Inputs {
		source := &r.sources.Inputs[i]
		if !source.ByNamespace {
			continue
		}
		inputs, err := source.Cache.Select(e.Object().GetName(), labels.Everything())
		if err != nil {
			r.Resync(queue, 0)
			return
		}
		for _, input := range inputs {
			r.enqueueSelecting(queue, input, func(*unstructured.Unstructured) bool { return true })
		}
	}
}
