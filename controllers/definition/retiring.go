package definition

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// retiring is an instance that has been replaced. It is closed once the finalizer is removed
// from the parents that the next one does not manage.
type retiring struct {
	instance *instance
	// released reports whether the next instance does not manage parents of a kind.
	released func(schema.GroupKind) bool
}

// newRetiring returns the instance that next replaces, if there is one.
func newRetiring(previous, next *instance) []retiring {
	if previous == nil {
		return nil
	}
	kept := next.plan.Config.Parents
	return []retiring{{previous, func(kind schema.GroupKind) bool {
		return !slices.ContainsFunc(kept, func(p variant.ParentRule) bool { return p.Kind.GroupKind() == kind })
	}}}
}

// closeRetiring removes finalizers and closes the retiring instances. The next reconcile
// retries those that fail, or that a pass still uses.
func (r *Reconciler) closeRetiring(ctx context.Context, s *runtimeState) error {
	var errs []error
	var failed []retiring
	for _, f := range s.retiring {
		if f.instance.passes.Load() > 0 {
			failed = append(failed, f)
			continue
		}
		if err := f.instance.reconciler.Release(ctx, f.released); err != nil {
			errs = append(errs, fmt.Errorf("taking finalizers off former parents: %w", err))
			failed = append(failed, f)
			continue
		}
		f.instance.close()
	}
	s.retiring = failed
	return errors.Join(errs...)
}

// abandonRetiring closes the retiring instances without removing finalizers.
func (s *runtimeState) abandonRetiring() {
	for _, f := range s.retiring {
		f.instance.close()
	}
	s.retiring = nil
}

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
