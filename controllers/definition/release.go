package definition

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// release removes the finalizer of a deleted definition from its parents. A definition that is
// not running, because its spec is refused or its scripts have never loaded, may have added
// some when it ran.
func (r *Reconciler) release(ctx context.Context, s *runtimeState) error {
	if s.running != nil {
		var errs []error
		for _, i := range s.all() {
			errs = append(errs, i.reconciler.Release(ctx, func(schema.GroupKind) bool { return true }))
		}
		return errors.Join(errs...)
	}
	if s.object == nil {
		return nil
	}
	name, rules := finalizerOf(s.object)
	config := parent.Config{Definition: s.object.GetKind() + " " + s.object.GetName(), Finalizing: parent.Finalizing{Name: name}}
	for _, rule := range rules {
		if resource, err := r.planner.Find(rule.APIVersion, rule.Resource); err == nil {
			config.Parents = append(config.Parents, variant.ParentRule{Resource: resource})
		}
	}
	return parent.Release(ctx, config, r.config.Environment)
}

// finalizerOf returns the finalizer of a definition that has a finalize hook, and the
// resources whose objects may have it.
func finalizerOf(object *unstructured.Unstructured) (finalizer string, rules []v1alpha1.ResourceRule) {
	var hooks []v1alpha1.NamedHook
	switch object.GetKind() { // A definition that can't be decoded has never run.
	case v1alpha1.CompositeControllerKind:
		d, _ := decode[v1alpha1.CompositeController](object)
		hooks, rules = d.Spec.Hooks.Defined(), []v1alpha1.ResourceRule{d.Spec.ParentResource.ResourceRule}
	case v1alpha1.DecoratorControllerKind:
		d, _ := decode[v1alpha1.DecoratorController](object)
		hooks = d.Spec.Hooks.Defined()
		for _, rule := range d.Spec.Resources {
			rules = append(rules, rule.ResourceRule)
		}
	case v1alpha1.MapControllerKind:
		d, _ := decode[v1alpha1.MapController](object)
		hooks, rules = d.Spec.Hooks.Defined(), []v1alpha1.ResourceRule{d.Spec.ParentResource.ResourceRule}
	}
	if hookNamed(hooks, v1alpha1.FinalizeHook) == nil {
		return "", nil
	}
	return v1alpha1.FinalizerOf(object.GetKind(), object.GetName()), rules
}
