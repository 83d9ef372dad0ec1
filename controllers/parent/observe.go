package parent

import (
	"cmp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// find gives the newest known state of the parent that key names and the rule
// that it falls under, or nil if there is no such parent any more.
func (r *Reconciler) find(key controller.Key) (*unstructured.Unstructured, *parentSource) {
	source := r.parentSource(key.Kind.GroupKind())
	if source == nil {
		return nil, nil
	}
	cached := source.cache.Get(key.Namespace, key.Name)
	if cached == nil || !source.selects(cached) {
		return nil, nil
	}
	return r.ahead.newest(cached), source
}

// observe collects what the pass will see. It is the only reader of the caches.
func (r *Reconciler) observe(parent *unstructured.Unstructured, source *parentSource) (Observed, error) {
	claim, err := r.config.Variant.Claim(parent)
	if err != nil {
		return Observed{}, err
	}
	observed := Observed{Parent: parent}
	created := r.ahead.createdBy(parent.GetUID())
	for i := range r.children {
		c := claimChildren(parent, claim, r.candidates(&r.children[i], parent, source, claim, created))
		children := append(c.owned, c.adopt...)
		sortByName(children)
		observed.Children = append(observed.Children, children...)
		observed.Adopt = append(observed.Adopt, c.adopt...)
		observed.Release = append(observed.Release, c.release...)
	}
	return observed, nil
}

// candidates gives the objects of one resource that the parent owns or might
// adopt, in their newest state.
func (r *Reconciler) candidates(child *childSource, parent *unstructured.Unstructured, source *parentSource, claim Claim, created []*unstructured.Unstructured) []*unstructured.Unstructured {
	found := child.cache.OwnedBy(parent.GetUID())
	if claim.Selector != nil {
		found = append(found, child.cache.Orphans(parent.GetNamespace(), claim.Selector)...)
	}
	for i := range found {
		found[i] = r.ahead.newest(found[i])
	}
	for _, object := range created {
		if object.GroupVersionKind() == child.Kind && child.cache.Get(object.GetNamespace(), object.GetName()) == nil {
			found = append(found, object)
		}
	}
	if source.Namespaced {
		// The garbage collector takes an owner in one namespace for absent in another.
		found = slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return o.GetNamespace() != parent.GetNamespace() })
	}
	return found
}

func sortByName(objects []*unstructured.Unstructured) {
	slices.SortFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(strings.Compare(a.GetNamespace(), b.GetNamespace()), strings.Compare(a.GetName(), b.GetName()))
	})
}
