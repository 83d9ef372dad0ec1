package definition

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// former is an instance that has been replaced. It is closed once those of its
// parents that the next one does not look after have lost their finalizer.
type retiring struct {
	instance *instance
	// left says of which kinds they are.
	released func(schema.GroupKind) bool
}

// replaced gives what is left to do of an instance that next replaces. It may be nil.
func newRetiring(previous, next *instance) []retiring {
	if previous == nil {
		return nil
	}
	kept := next.plan.Config.Parents
	return []retiring{{previous, func(kind schema.GroupKind) bool {
		return !slices.ContainsFunc(kept, func(p variant.ParentRule) bool { return p.Kind.GroupKind() == kind })
	}}}
}

// retire lets go of the parents of former instances. What could not be done stays
// to be done by the next pass.
func (r *Reconciler) closeRetiring(ctx context.Context, s *runtimeState) error {
	var errs []error
	var left []retiring
	for _, f := range s.retiring {
		if err := f.instance.reconciler.Release(ctx, f.released); err != nil {
			errs = append(errs, fmt.Errorf("taking finalizers off former parents: %w", err))
			left = append(left, f)
			continue
		}
		f.instance.close()
	}
	s.retiring = left
	return errors.Join(errs...)
}

// dismiss closes former instances, whatever they hold.
func (s *runtimeState) abandonRetiring() {
	for _, f := range s.retiring {
		f.instance.close()
	}
	s.retiring = nil
}
