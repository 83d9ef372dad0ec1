package parent

import (
	"context"
	"hash/fnv"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// parentSource is a resource of parents and its cache.
type parentSource struct {
	ParentRule
	cache *informer.Handle
}

// childSource is a resource of children and its cache.
type childSource struct {
	ChildRule
	cache *informer.Handle
}

// Queue takes the keys of parents that are to be looked at.
type Queue interface {
	Enqueue(key controller.Key)
	EnqueueAfter(key controller.Key, after time.Duration)
}

// Watch enqueues the parents that an event concerns, beginning with all there
// are. It is called once, before the queue is worked on.
func (r *Reconciler) Watch(queue Queue) error {
	for i := range r.parents {
		source := &r.parents[i]
		if err := source.cache.Watch(func(e informer.Event) { r.parentEvent(queue, source, e) }); err != nil {
			return err
		}
	}
	for i := range r.children {
		source := &r.children[i]
		if err := source.cache.Watch(func(e informer.Event) { r.childEvent(queue, e) }); err != nil {
			return err
		}
	}
	return nil
}

// WaitForSync returns when all caches are filled, and gives false if ctx ended before.
func (r *Reconciler) WaitForSync(ctx context.Context) bool {
	for _, source := range r.parents {
		if !source.cache.WaitForSync(ctx) {
			return false
		}
	}
	for _, source := range r.children {
		if !source.cache.WaitForSync(ctx) {
			return false
		}
	}
	return true
}

// Resync enqueues all parents behind fresh events, one every interval.
func (r *Reconciler) Resync(queue Queue, interval time.Duration) {
	var after time.Duration
	for i := range r.parents {
		for _, parent := range r.parents[i].cache.List() {
			if r.parents[i].selects(parent) {
				queue.EnqueueAfter(keyOf(r.parents[i].Kind, parent), after)
				after += interval
			}
		}
	}
}

// Parents counts the objects that the definition looks after.
func (r *Reconciler) Parents() int {
	count := 0
	for i := range r.parents {
		for _, parent := range r.parents[i].cache.List() {
			if r.parents[i].selects(parent) {
				count++
			}
		}
	}
	return count
}

func (s *parentSource) selects(parent *unstructured.Unstructured) bool {
	return s.Selector.Empty() || s.Selector.Matches(labels.Set(parent.GetLabels()))
}

func (r *Reconciler) parentSource(kind schema.GroupKind) *parentSource {
	for i := range r.parents {
		if r.parents[i].Kind.GroupKind() == kind {
			return &r.parents[i]
		}
	}
	return nil
}

// parentEvent enqueues a parent that is, or was, selected.
func (r *Reconciler) parentEvent(queue Queue, source *parentSource, e informer.Event) {
	r.ahead.seen(e)
	if e.Old == nil || e.New == nil {
		r.config.ParentsChanged()
	}
	if source.IgnoreStatusChanges && onlyStatusChanged(e) {
		return
	}
	if source.selects(e.Object()) || e.Old != nil && source.selects(e.Old) {
		queue.Enqueue(keyOf(source.Kind, e.Object()))
	}
}

// onlyStatusChanged says that an update left alone all that ignoreStatusChanges
// is about (section 3.3 of the specification).
func onlyStatusChanged(e informer.Event) bool {
	return e.Old != nil && e.New != nil && e.New.GetDeletionTimestamp() == nil &&
		e.Old.GetGeneration() == e.New.GetGeneration() &&
		maps.Equal(e.Old.GetLabels(), e.New.GetLabels()) &&
		maps.Equal(e.Old.GetAnnotations(), e.New.GetAnnotations())
}

// childEvent enqueues the owner of a child, before and after the event, and for
// an orphan the parents that might adopt it. Objects that were there before the
// watch concern nobody: their parents are enqueued by their own appearance.
func (r *Reconciler) childEvent(queue Queue, e informer.Event) {
	r.ahead.seen(e)
	if e.Replay {
		return
	}
	if e.Old != nil {
		r.enqueueOwner(queue, e.Old)
	}
	switch {
	case e.New == nil:
	case informer.ControllerOf(e.New) != nil:
		r.enqueueOwner(queue, e.New)
	case e.New.GetDeletionTimestamp() == nil:
		r.enqueueAdopters(queue, e.New)
	}
}

// enqueueOwner enqueues the parent that the object's controllerRef names, if it
// is one of ours and still the same.
func (r *Reconciler) enqueueOwner(queue Queue, object *unstructured.Unstructured) {
	ref := informer.ControllerOf(object)
	if ref == nil {
		return
	}
	source := r.referred(ref)
	if source == nil {
		return
	}
	namespace := ""
	if source.Namespaced {
		namespace = object.GetNamespace()
	}
	if parent := source.cache.Get(namespace, ref.Name); parent != nil && parent.GetUID() == ref.UID && source.selects(parent) {
		queue.Enqueue(keyOf(source.Kind, parent))
	}
}

// referred gives the source of the kind that a reference names, in whatever version.
func (r *Reconciler) referred(ref *metav1.OwnerReference) *parentSource {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return nil
	}
	return r.parentSource(schema.GroupKind{Group: gv.Group, Kind: ref.Kind})
}

// enqueueAdopters enqueues the parents whose selector matches an orphan. They
// are found by the index that indexParents made.
func (r *Reconciler) enqueueAdopters(queue Queue, orphan *unstructured.Unstructured) {
	if r.config.SelectorIndex == "" {
		return
	}
	set := orphan.GetLabels()
	for i := range r.parents {
		source := &r.parents[i]
		for _, pair := range informer.PairsOf(set) {
			for _, parent := range source.cache.ByIndex(r.config.SelectorIndex, pair) {
				if r.mightAdopt(source, parent, orphan.GetNamespace(), set) {
					queue.Enqueue(keyOf(source.Kind, parent))
				}
			}
		}
	}
}

func (r *Reconciler) mightAdopt(source *parentSource, parent *unstructured.Unstructured, namespace string, set labels.Set) bool {
	if source.Namespaced && parent.GetNamespace() != namespace || !source.selects(parent) {
		return false
	}
	claim, err := r.config.Variant.Claim(parent)
	return err == nil && claim.Selector != nil && claim.Selector.Matches(set)
}

// indexParents makes the index by which an orphan finds those who might adopt it.
func (r *Reconciler) indexParents() error {
	if r.config.SelectorIndex == "" {
		return nil
	}
	for i := range r.parents {
		err := r.parents[i].cache.AddIndex(r.config.SelectorIndex, func(parent *unstructured.Unstructured) []string {
			claim, err := r.config.Variant.Claim(parent)
			if err != nil || claim.Selector == nil {
				return nil
			}
			return informer.Pairs(claim.Selector)
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

// spread gives a time between nine tenths of period and period, always the same
// for one UID, so that parents made together are not resynced together for ever.
func spread(uid types.UID, period time.Duration) time.Duration {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	return period - period/10*time.Duration(h.Sum32()%1024)/1024
}
