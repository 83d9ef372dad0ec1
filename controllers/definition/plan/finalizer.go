package plan

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// FinalizerOf returns the finalizer of a definition that has a finalize hook, and the
// resources whose objects may have it.
func FinalizerOf(object *unstructured.Unstructured) (finalizer string, rules []v1alpha1.ResourceRule) {
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
	return v1alpha1.FinalizerOf(object.GetKind(), v1alpha1.UniqueName(object)), rules
}
