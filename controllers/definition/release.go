package definition

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
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
	name, rules := plan.FinalizerOf(s.object)
	config := parent.Config{Definition: nameOf(s.object), Finalizing: parent.Finalizing{Name: name}}
	config.Account.Namespace, _, _ = unstructured.NestedString(s.object.Object, "spec", "serviceAccountRef", "namespace")
	if namespace := s.object.GetNamespace(); namespace != "" { // It never works as the host.
		config.Account.Namespace = namespace
	}
	config.Account.Name, _, _ = unstructured.NestedString(s.object.Object, "spec", "serviceAccountRef", "name")
	for _, rule := range rules {
		if resource, err := r.planner.Find(rule.APIVersion, rule.Resource); err == nil {
			config.Parents = append(config.Parents, variant.ParentRule{Resource: resource})
		}
	}
	return parent.Release(ctx, config, r.config.Environment.In(s.object.GetNamespace(), config.Account))
}
