package parent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/controller"
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
func (r *Reconciler) held(parent *unstructured.Unstructured) bool {
	return r.config.Finalizing.Name != "" && slices.Contains(parent.GetFinalizers(), r.config.Finalizing.Name)
}

// finalizing says that the finalize hook is asked about the parent (section 3.5
// of the specification).
func (r *Reconciler) finalizing(parent *unstructured.Unstructured, source *parentSource) bool {
	return r.config.Finalizing.Enabled && (parent.GetDeletionTimestamp() != nil || !source.Selects(parent))
}

// syncFinalizer puts the finalizer on a parent, before anything is made for it,
// or takes off one that a definition without a finalize hook has left. It gives
// the parent as it is then.
func (r *Reconciler) syncFinalizer(ctx context.Context, parent *unstructured.Unstructured, source *parentSource) (*unstructured.Unstructured, error) {
	f, held := r.config.Finalizing, r.held(parent)
	finalizers := parent.GetFinalizers()
	switch {
	case f.Enabled && !held && parent.GetDeletionTimestamp() == nil:
		finalizers = append(finalizers, f.Name)
	case !f.Enabled && held:
		finalizers = without(finalizers, f.Name)
	default:
		return parent, nil
	}
	updated, err := r.patchMetadata(ctx, parent, source, map[string]any{"finalizers": finalizers})
	if err == nil && (!r.concerns(source, updated) || updated.GetDeletionTimestamp() != nil && len(updated.GetFinalizers()) == 0) {
		return nil, errGone
	}
	return updated, err
}

// manages says whether children are managed for the parent in this pass
// (Appendix B of the specification).
func (r *Reconciler) manages(observed Observed, desired Desired) bool {
	f := r.config.Finalizing
	switch {
	case !observed.Deleting():
		return true
	case !f.Enabled || !r.held(observed.Parent):
		return false
	case slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerDeleteDependents),
		slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return false // The garbage collector is at work on them, as whoever deleted the parent wished.
	default:
		return !desired.Finalized || f.AppliesLast
	}
}

// Release takes the finalizer off every parent of the kinds that are no longer
// the definition's, because nobody would do it later.
func (r *Reconciler) Release(ctx context.Context, former func(schema.GroupKind) bool) error {
	var errs []error
	for i := range r.parents {
		source := &r.parents[i]
		if former(source.Kind.GroupKind()) {
			errs = append(errs, r.releaseAll(ctx, source, source.cache.List()))
		}
	}
	return errors.Join(errs...)
}

// releaseAll takes the finalizer off those of the parents that have it.
func (r *Reconciler) releaseAll(ctx context.Context, source *parentSource, parents []*unstructured.Unstructured) error {
	var errs []error
	for _, parent := range parents {
		parent = r.ahead.newest(parent)
		if !r.held(parent) {
			continue
		}
		finalizers := without(parent.GetFinalizers(), r.config.Finalizing.Name)
		_, err := r.patchMetadata(ctx, parent, source, map[string]any{"finalizers": finalizers})
		if err != nil && !errors.Is(err, errGone) {
			errs = append(errs, fmt.Errorf("%s %s/%s: %w", parent.GetKind(), parent.GetNamespace(), parent.GetName(), err))
		}
	}
	return errors.Join(errs...)
}

// ReleaseListed is Release for a definition that does not run and so has no
// caches: it lists the parents of the rules.
func ReleaseListed(ctx context.Context, config Config, env Environment) error {
	r := &Reconciler{config: config, env: env, ahead: newAhead(env.Clock)}
	var errs []error
	for _, rule := range config.Parents {
		list, err := env.Client.Resource(rule.GroupVersionResource).List(ctx, metav1.ListOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			errs = append(errs, fmt.Errorf("%s: %w", rule.GroupResource(), err))
		}
		if err == nil {
			errs = append(errs, r.releaseAll(ctx, &parentSource{ParentRule: rule}, pointers(list.Items)))
		}
	}
	return errors.Join(errs...)
}

func pointers(items []unstructured.Unstructured) []*unstructured.Unstructured {
	objects := make([]*unstructured.Unstructured, len(items))
	for i := range items {
		objects[i] = &items[i]
	}
	return objects
}

// patchMetadata merges fields into the parent's metadata, if the parent is still
// the version at hand.
func (r *Reconciler) patchMetadata(ctx context.Context, parent *unstructured.Unstructured, source *parentSource, metadata map[string]any) (*unstructured.Unstructured, error) {
	metadata["uid"], metadata["resourceVersion"] = parent.GetUID(), parent.GetResourceVersion()
	patch, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	updated, err := r.env.Client.Resource(source.GroupVersionResource).Namespace(parent.GetNamespace()).
		Patch(ctx, parent.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, errGone
	case apierrors.IsConflict(err):
		return nil, fmt.Errorf("metadata: %w: %w", controller.ErrLater, err)
	case err != nil:
		return nil, fmt.Errorf("ApplyFailed: metadata: %w", err)
	}
	updated.SetManagedFields(nil)
	r.ahead.wrote(parent.GetUID(), updated, false)
	return updated, nil
}

func without(finalizers []string, name string) []string {
	kept := make([]string, 0, len(finalizers))
	for _, f := range finalizers {
		if f != name {
			kept = append(kept, f)
		}
	}
	return kept
}
