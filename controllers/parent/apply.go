package parent

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// apply makes the observed children the desired ones. It is the only writer of
// children, and writes nothing for a parent that is being deleted: its children
// are the garbage collector's (section 3.5 of the specification).
func (r *Reconciler) apply(ctx context.Context, observed Observed, desired Desired) error {
	if observed.Deleting() {
		return nil
	}
	changes, err := apply.Diff(apply.Input{
		Owner: ownerReference(observed.Parent), Observed: observed.Children, Desired: desired.Children, Rules: r.rules,
	})
	if err != nil {
		return err
	}
	changes, err = r.withOwnership(ctx, observed, changes)
	if err != nil || len(changes) == 0 {
		return err
	}
	var errs []error
	for _, outcome := range apply.Execute(ctx, r.env.Client, changes, apply.Options{Parallel: r.env.Writes}) {
		r.note(observed.Parent, outcome)
		errs = append(errs, r.explain(ctx, observed.Parent, outcome))
	}
	return errors.Join(errs...)
}

// withOwnership puts adoptions and releases before the other changes.
func (r *Reconciler) withOwnership(ctx context.Context, observed Observed, changes []apply.Change) ([]apply.Change, error) {
	if len(observed.Adopt) > 0 {
		if err := r.confirmAlive(ctx, observed.Parent); err != nil {
			return nil, err
		}
	}
	owner := ownerReference(observed.Parent)
	var ownership []apply.Change
	for _, object := range observed.Release {
		ownership = append(ownership, apply.Release(object, owner, r.resourceOf(object)))
	}
	for _, object := range observed.Adopt {
		ownership = append(ownership, apply.Adopt(object, owner, r.resourceOf(object)))
	}
	return append(ownership, changes...), nil
}

// confirmAlive is the uncached look before adopting (section 3.4 of the
// specification): a cache may not know yet that the parent is gone.
func (r *Reconciler) confirmAlive(ctx context.Context, parent *unstructured.Unstructured) error {
	source := r.parentSource(parent.GroupVersionKind().GroupKind())
	live, err := r.env.Client.Resource(source.GroupVersionResource).Namespace(parent.GetNamespace()).Get(ctx, parent.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the parent is gone", controller.ErrLater)
	case err != nil:
		return fmt.Errorf("looking at the parent before adopting: %w", err)
	case live.GetUID() != parent.GetUID() || live.GetDeletionTimestamp() != nil:
		return fmt.Errorf("%w: the parent is being deleted or another of its name is there", controller.ErrLater)
	}
	return nil
}

// note remembers a write until the caches show it, and logs it.
func (r *Reconciler) note(parent *unstructured.Unstructured, outcome apply.Outcome) {
	if outcome.Err != nil {
		return
	}
	change := outcome.Change
	if outcome.Object != nil {
		outcome.Object.SetManagedFields(nil)
	}
	r.env.Log.Info("child written", "definition", r.config.Definition, "parent", apply.KeyOf(parent).String(),
		"action", string(change.Action), "child", change.Key.String())
	switch {
	case change.Observed == nil:
		r.ahead.wrote(parent.GetUID(), outcome.Object, "")
	case outcome.Object == nil:
		r.ahead.deleted(parent.GetUID(), change.Observed)
	default:
		r.ahead.wrote(parent.GetUID(), outcome.Object, change.Observed.GetResourceVersion())
	}
}

// explain makes of a failed write an error that says what to do, and of one that
// met a newer version a reason to come back.
func (r *Reconciler) explain(ctx context.Context, parent *unstructured.Unstructured, outcome apply.Outcome) error {
	switch apply.Classify(outcome.Err) {
	case apply.None:
		return nil
	case apply.Stale:
		return fmt.Errorf("%w: %w", controller.ErrLater, outcome.Err)
	case apply.Taken:
		return r.explainExisting(ctx, parent, outcome.Change)
	default:
		return fmt.Errorf("ApplyFailed: %w", outcome.Err)
	}
}

// explainExisting says whose the object is that stands in the way of a creation.
func (r *Reconciler) explainExisting(ctx context.Context, parent *unstructured.Unstructured, change apply.Change) error {
	live, err := r.env.Client.Resource(change.Resource).Namespace(change.Key.Namespace).Get(ctx, change.Key.Name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("%s: %w: %w", change.Key, controller.ErrLater, err)
	}
	owner := informer.ControllerOf(live)
	switch {
	case owner != nil && owner.UID == parent.GetUID():
		return fmt.Errorf("%s: %w: the cache does not show it yet", change.Key, controller.ErrLater)
	case owner != nil:
		err = fmt.Errorf("AlreadyOwned: %s exists and belongs to %s %s: let the hook choose another name, or delete the object", change.Key, owner.Kind, owner.Name)
	default:
		err = fmt.Errorf("AlreadyOwned: %s exists, has no owner and its labels do not match the parent's selector: label it so that it is adopted, or delete it", change.Key)
	}
	r.env.Events.Event(parent, corev1.EventTypeWarning, ReasonAlreadyOwned, err.Error())
	return err
}

func (r *Reconciler) resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	for i := range r.children {
		if r.children[i].Kind == object.GroupVersionKind() {
			return r.children[i].GroupVersionResource
		}
	}
	return schema.GroupVersionResource{}
}
