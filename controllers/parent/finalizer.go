package parent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/finalizers"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Finalizing configures a definition's finalizer.
type Finalizing struct {
	// Name is the finalizer. Parents may still have it after the finalize hook was removed from
	// the definition.
	Name string
	// Enabled is set if the definition has a finalize hook.
	Enabled bool
	// AppliesLast is set if the children of the answer with finalized are still applied to a
	// parent that is being deleted. A decorator's are, a composite's are not (Appendix B of the
	// specification).
	AppliesLast bool
	// Shared is set if one webhook is called for both hooks. It may return finalized before anything is to be finalized.
	Shared bool
}

// errGone silently ends a pass over a parent that no longer exists.
var errGone = errors.New("the parent is gone")

// shouldFinalize reports whether the finalize hook is called for the parent (section 3.5 of the
// specification).
func (r *shared) shouldFinalize(parent *unstructured.Unstructured, source *sources.Parent) bool {
	return r.config.Finalizing.Enabled && (parent.GetDeletionTimestamp() != nil || !source.Selects(parent))
}

// syncFinalizer adds the finalizer before anything is created for a parent, or removes it if the
// definition has no finalize hook any more. It returns the updated parent.
func (r *Reconciler) syncFinalizer(
	ctx context.Context, parent *unstructured.Unstructured, source *sources.Parent,
) (*unstructured.Unstructured, error) {
	if r.finalizerPatch(parent, source) == nil {
		return parent, nil
	}
	updated, err := r.patchMetadata(ctx, parent, source, func(parent *unstructured.Unstructured) (map[string]any, error) {
		return r.finalizerPatch(parent, source), nil
	})
	if err == nil && (!source.Manages(updated) || updated.GetDeletionTimestamp() != nil && len(updated.GetFinalizers()) == 0) {
		return nil, errGone
	}
	return updated, err
}

// finalizerPatch returns the merge patch of the parent's metadata, or nil.
func (r *shared) finalizerPatch(parent *unstructured.Unstructured, source *sources.Parent) map[string]any {
	f, held := r.config.Finalizing, source.HasFinalizer(parent)
	switch {
	case f.Enabled && !held && parent.GetDeletionTimestamp() == nil && source.Selects(parent):
		return map[string]any{"finalizers": append(parent.GetFinalizers(), f.Name)}
	case !f.Enabled && held:
		return map[string]any{"finalizers": withoutFinalizer(parent.GetFinalizers(), f.Name)}
	default:
		return nil
	}
}

// managesChildren reports whether this pass writes children (Appendix B of the specification).
func (p *pass) managesChildren(observed variant.Observed, desired variant.Desired) bool {
	f := p.config.Finalizing
	switch {
	case !observed.Deleting():
		return true
	case !f.Enabled || !p.source.HasFinalizer(observed.Parent):
		return false
	case slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerDeleteDependents),
		slices.Contains(observed.Parent.GetFinalizers(), metav1.FinalizerOrphanDependents):
		return false // The deletion of the parent left them to the garbage collector.
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

// withoutFinalizerAnyway returns the error of a refused write of the parent with the news that the finalizer goes all the same.
func withoutFinalizerAnyway(err error) error {
	const text = "%w: the object is finalized, and is let go all the same: mend the answer of the finalize hook if that should be stored"
	var f *failure.Error
	if !errors.As(err, &f) {
		return fmt.Errorf(text, err)
	}
	return &failure.Error{Reason: f.Reason, Retry: f.Retry, Err: fmt.Errorf(text, f.Err)}
}

// Unfinalized returns the parents that a finalize hook has held for more than a minute, sorted.
func (r *Reconciler) Unfinalized() []controller.Key { return r.finalizeWaits.Reported() }

// awaitFinalized reports a parent that its finalize hook holds for long, and has it synced when
// the next report is due. Such a sync calls no hook if nothing has changed.
func (p *pass) awaitFinalized(result controller.Result) controller.Result {
	if !p.config.Finalizing.Enabled {
		return result
	}
	if !p.observed.Finalizing || !p.source.HasFinalizer(p.parent) {
		if p.finalizeWaits.End(p.key) {
			p.config.Changed()
		}
		return result
	}
	after, tell, first := p.finalizeWaits.Note(p.key, p.parent.GetUID())
	if tell {
		p.warnOnce(variant.ReasonNotFinalized, fmt.Sprintf(
			"the finalize hook has answered without finalized for more than a minute, and %s holds the object until it does: "+
				"mend the hook if it does not wait for something, or take that finalizer off to let the object go without it%s",
			p.config.Finalizing.Name, p.describeWaits()))
	}
	if first {
		p.config.Changed()
	}
	result.RequeueAfter = variant.Earlier(result.RequeueAfter, after)
	return result
}

// describeWaits returns what the hook says that it waits for, as the end of a sentence.
func (p *pass) describeWaits() string {
	waits := p.waits.Of(p.key)
	if len(waits) == 0 {
		return ""
	}
	return fmt.Sprintf(" (the hook says that it waits: %s)", waits[0])
}

// reportFinalized reports a sync hook that returns finalized, once for a revision of the scripts.
func (p *pass) reportFinalized(finalized bool) {
	f := p.config.Finalizing
	if !finalized || p.observed.Finalizing || f.Shared || !p.droppedFields.IsFirst(p.programs.Revision, variant.ReasonFinalizedIgnored) {
		return
	}
	remedy := "return it from the finalize hook only"
	if !f.Enabled {
		remedy = "the definition has no finalize hook, and the object is deleted without one: add hooks.finalize, or leave finalized out"
	}
	p.warnOfScripts(variant.ReasonFinalizedIgnored, fmt.Sprintf(
		"the sync hook returns finalized: true, which has no effect there: %s", remedy))
}

// Release removes the finalizer from all parents of the kinds that the definition no longer has.
// No pass may be running.
func (r *Reconciler) Release(ctx context.Context, isPrevious func(schema.GroupKind) bool) error {
	config := r.config
	config.Parents = slices.DeleteFunc(slices.Clone(config.Parents), func(rule variant.ParentRule) bool {
		return !isPrevious(rule.Kind.GroupKind())
	})
	return Release(ctx, config, r.env)
}

// Release removes a definition's finalizer from all objects of its parents' resources.
func Release(ctx context.Context, config Config, env Environment) error {
	if config.Finalizing.Name == "" {
		return nil
	}
	ctx = identity.WithAccount(ctx, config.Account)
	all := finalizers.Finalizers{Client: env.Metadata, Parallel: env.Writes}
	if env.Namespace != "" {
		all.Namespaces = []string{env.Namespace}
	}
	var errs []error
	for _, rule := range config.Parents {
		_, err := all.Remove(ctx, rule.GroupVersionResource, func(name string) bool { return name == config.Finalizing.Name })
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
