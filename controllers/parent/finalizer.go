package parent

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
)

// Finalizing is what a definition's finalizer is and does.
type Finalizing struct {
	// Name is the finalizer's. Parents may carry it from a time when the
	// definition had a finalize hook.
	Name string
	// Enabled says that the definition has a finalize hook.
	Enabled bool
	// AppliesLast says that the children of the answer that says finalized are
	// still applied to a parent that is being deleted (Appendix B of the
	// specification: a decorator's are, a composite's are not).
	AppliesLast bool
}

// errGone ends a pass over a parent that is no longer there, quietly.
var errGone = errors.New("the parent is gone")

// held says whether the parent carries the definition's finalizer.
func (r *shared) hasFinalizer(parent *unstructured.Unstructured) bool {
	return r.config.Finalizing.Name != "" && slices.Contains(parent.GetFinalizers(), r.config.Finalizing.Name)
}

// finalizing says that the finalize hook is asked about the parent (section 3.5
// of the specification).
func (r *shared) shouldFinalize(parent *unstructured.Unstructured, source *parentSource) bool {
	return r.config.Finalizing.Enabled && (parent.GetDeletionTimestamp() != nil || !source.Selects(parent))
}

// syncFinalizer puts the finalizer on a parent, before anything is made for it,
// or takes off one that a definition without a finalize hook has left. It gives
// the parent as it is then.
func (r *Reconciler) syncFinalizer(ctx context.Context, parent *unstructured.Unstructured, source *parentSource) (*unstructured.Unstructured, error) {
	if r.finalizerPatch(parent, source) == nil {
		return parent, nil
	}
	updated, err := r.patchMetadata(ctx, parent, source, func(parent *unstructured.Unstructured) (map[string]any, error) {
		return r.finalizerPatch(parent, source), nil
	})
	if err == nil && (!r.isParent(source, updated) || updated.GetDeletionTimestamp() != nil && len(updated.GetFinalizers()) == 0) {
		return nil, errGone
	}
	return updated, err
}

// finalizerPatch gives what is to be merged into a parent's metadata before anything is made for it, or nil.
func (r *shared) finalizerPatch(parent *unstructured.Unstructured, source *parentSource) map[string]any {
	f, held := r.config.Finalizing, r.hasFinalizer(parent)
	switch {
	case f.Enabled && !held && parent.GetDeletionTimestamp() == nil && source.Selects(parent):
		return map[string]any{"finalizers": append(parent.GetFinalizers(), f.Name)}
	case !f.Enabled && held:
		return map[string]any{"finalizers": withoutFinalizer(parent.GetFinalizers(), f.Name)}
	default:
		return nil
	}
}

// manages says whether children are managed for the parent in this pass
// (Appendix B of the specification).
func (r *shared) managesChildren(observed variant.Observed, desired variant.Desired) bool {
	f := r.config.Finalizing
	switch {
	case !observed.Deleting():
		return true
	case !f.Enabled || !r.hasFinalizer(observed.Parent):
		return false
	case slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerDeleteDependents),
		slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return false // The garbage collector is at work on them, as whoever deleted the parent wished.
	default:
		return !desired.Finalized || f.AppliesLast
	}
}

func withoutFinalizer(finalizers []string, name string) []string {
	kept := make([]string, 0, len(finalizers))
	for _, f := range finalizers {
		if f != name {
			kept = append(kept, f)
		}
	}
	return kept
}
