package parent

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// inputs returns the parent's inputs, by rule, namespace and name, without objects that the
// parent owns.
func (p *pass) inputs(ctx context.Context) ([]*unstructured.Unstructured, error) {
	if len(p.sources.Inputs) == 0 || p.observed.Finalizing || p.observed.Deleting() {
		return nil, nil
	}
	selector, err := p.config.Selector(p.parent)
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for i := range p.sources.Inputs {
		source := &p.sources.Inputs[i]
		candidates, err := source.Cache.Select(p.parent.GetNamespace(), selector)
		if err != nil {
			return nil, err
		}
		var inputs []*unstructured.Unstructured
		for _, candidate := range candidates {
			owner := informer.ControllerOf(candidate)
			if (owner == nil || owner.UID != p.parent.GetUID()) && source.Selects(p.parent, candidate, p.sources.NamespaceLabels) {
				inputs = append(inputs, candidate)
			}
		}
		sortByName(inputs)
		if err := p.checkReads(ctx, source.GroupVersionResource, inputs...); err != nil {
			return nil, err
		}
		all = append(all, inputs...)
	}
	return all, nil
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

// checksReads reports whether what hooks are shown depends on the account of the definition.
func (p *pass) checksReads() bool { return !p.config.Account.IsHost() && p.env.Access != nil }

// checkReads returns an error unless the account of the definition may list and watch objects of a resource where they are. The caches are
// filled by the host's account, so that it is called before hooks are shown an object.
func (p *pass) checkReads(ctx context.Context, resource schema.GroupVersionResource, objects ...*unstructured.Unstructured) error {
	if !p.checksReads() {
		return nil
	}
	for i, object := range objects {
		namespace := object.GetNamespace()
		if i > 0 && objects[i-1].GetNamespace() == namespace {
			continue
		}
		if err := p.env.Access.MayRead(ctx, resource, namespace); err != nil {
			return err
		}
	}
	return nil
}

// checkRelated is checkReads for the related objects of rules. A rule needs the right to read where it looks, as that there is nothing is
// an answer too.
func (p *pass) checkRelated(ctx context.Context, rules []*related.Rule, found []*unstructured.Unstructured) error {
	if !p.checksReads() {
		return nil
	}
	for _, rule := range rules {
		namespace, is := rule.Namespace()
		if is {
			if err := p.env.Access.MayRead(ctx, rule.Resource().GroupVersionResource, namespace); err != nil {
				return err
			}
			continue
		}
		ofKind := slices.DeleteFunc(slices.Clone(found), func(o *unstructured.Unstructured) bool {
			return o.GroupVersionKind() != rule.Resource().Kind
		})
		if err := p.checkReads(ctx, rule.Resource().GroupVersionResource, ofKind...); err != nil {
			return err
		}
	}
	return nil
}
