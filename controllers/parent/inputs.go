package parent

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// inputSource is a resource of inputs and its cache.
type inputSource struct {
	variant.InputRule
	cache *informer.Handle
}

// inputs returns the parent's inputs, by rule, namespace and name, without objects that the
// parent owns.
func (p *pass) inputs() ([]*unstructured.Unstructured, error) {
	if len(p.inputSources) == 0 || p.observed.Finalizing || p.observed.Deleting() {
		return nil, nil
	}
	selector, err := p.config.Selector(p.parent)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for i := range p.inputSources {
		source := &p.inputSources[i]
		candidates, err := source.cache.Select(p.parent.GetNamespace(), selector)
		if err != nil {
			return nil, err
		}
		var inputs []*unstructured.Unstructured
		for _, candidate := range candidates {
			owner := informer.ControllerOf(candidate)
			if (owner == nil || owner.UID != p.parent.GetUID()) && source.Selects(p.parent, candidate, p.namespaceLabels) {
				inputs = append(inputs, candidate)
			}
		}
		sortByName(inputs)
		all = append(all, inputs...)
	}
	return all, nil
}

// namespaceLabels returns the labels of a namespace, or nil if it is not known or no rule selects namespaces.
func (r *shared) namespaceLabels(namespace string) labels.Set {
	if r.namespaces == nil || r.namespaces.Get("", namespace) == nil {
		return nil
	}
	return related.LabelsIn(r.namespaces, namespace)
}

// inputEvent enqueues the parents of which an object is or was an input.
func (r *Reconciler) inputEvent(queue Queue, source *inputSource, e informer.Event) {
	if e.Replay {
		return
	}
	for _, input := range []*unstructured.Unstructured{e.Old, e.New} {
		if input != nil {
			r.enqueueSelecting(queue, input, func(parent *unstructured.Unstructured) bool {
				return source.Selects(parent, input, r.namespaceLabels)
			})
		}
	}
}

// enqueueSelecting enqueues the parents whose selector matches an input, and for which also holds. It finds them with the index of
// indexParents.
func (r *Reconciler) enqueueSelecting(queue Queue, input *unstructured.Unstructured, also func(parent *unstructured.Unstructured) bool) {
	set := labels.Set(input.GetLabels())
	for i := range r.parents {
		for _, pair := range informer.PairsOf(set) {
			for _, parent := range r.parents[i].cache.ByIndex(r.config.SelectorIndex, pair) {
				selector, err := r.config.Selector(parent)
				if r.isParent(&r.parents[i], parent) && err == nil && selector.Matches(set) && also(parent) {
					queue.EnqueueSoon(keyOf(r.parents[i].Kind, parent), debounce)
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
	for i := range r.inputSources {
		source := &r.inputSources[i]
		if !source.ByNamespace {
			continue
		}
		inputs, err := source.cache.Select(e.Object().GetName(), labels.Everything())
		if err != nil {
			r.Resync(queue, 0)
			return
		}
		for _, input := range inputs {
			r.enqueueSelecting(queue, input, func(*unstructured.Unstructured) bool { return true })
		}
	}
}
