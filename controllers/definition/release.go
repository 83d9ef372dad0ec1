package definition

import (
	"context"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// release takes the finalizer of a definition that is gone off its parents. One
// that does not run, because its spec is refused or its scripts have never
// loaded, may have held some when it did.
func (r *Reconciler) release(ctx context.Context, h *runtimeState) error {
	if h.running != nil {
		return h.running.reconciler.Release(ctx, func(schema.GroupKind) bool { return true })
	}
	if h.object == nil {
		return nil
	}
	name, rules := finalizerOf(h.object)
	config := parent.Config{Definition: h.object.GetKind() + " " + h.object.GetName(), Finalizing: parent.Finalizing{Name: name}}
	for _, rule := range rules {
		if resource, err := r.planner.Find(rule.APIVersion, rule.Resource); err == nil {
			config.Parents = append(config.Parents, variant.ParentRule{Resource: resource})
		}
	}
	return parent.Release(ctx, config, r.config.Environment)
}

// holds gives the finalizer of a definition that has a finalize hook, and the
// resources whose objects may carry it.
func finalizerOf(object *unstructured.Unstructured) (finalizer string, rules []v1alpha1.ResourceRule) {
	var hooks []v1alpha1.NamedHook
	switch object.GetKind() {
	case v1alpha1.CompositeControllerKind:
		d := decode[v1alpha1.CompositeController](object)
		finalizer, hooks = d.Finalizer(), d.Spec.Hooks.Defined()
		rules = []v1alpha1.ResourceRule{d.Spec.ParentResource.ResourceRule}
	case v1alpha1.DecoratorControllerKind:
		d := decode[v1alpha1.DecoratorController](object)
		finalizer, hooks = d.Finalizer(), d.Spec.Hooks.Defined()
		for _, rule := range d.Spec.Resources {
			rules = append(rules, rule.ResourceRule)
		}
	case v1alpha1.MapControllerKind:
		d := decode[v1alpha1.MapController](object)
		finalizer, hooks = d.Finalizer(), d.Spec.Hooks.Defined()
		rules = []v1alpha1.ResourceRule{d.Spec.ParentResource.ResourceRule}
	}
	for _, hook := range hooks {
		if hook.Name == v1alpha1.FinalizeHook {
			return finalizer, rules
		}
	}
	return "", nil
}

// decoded gives an empty definition for one that can't be read, which has never run.
func decode[T any](object *unstructured.Unstructured) *T {
	definition := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, definition); err != nil {
		return new(T)
	}
	return definition
}
