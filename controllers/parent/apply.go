package parent

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// apply makes the observed children the desired ones. It is the only writer of children.
func (p *pass) apply(ctx context.Context, desired variant.Desired) error {
	if !p.managesChildren(p.observed, desired) {
		return nil
	}
	p.reportUnownedOutputs(desired)
	p.reportWarnings(desired.Warnings)
	if desired.Waiting != nil {
		return nil
	}
	defer p.logWrites()
	defer p.emitChildEvents()
	if len(p.observed.Adopt) > 0 {
		if err := p.ensureAlive(ctx); err != nil {
			return err
		}
	}
	if err := p.writeRevisions(ctx, desired); err != nil {
		return err
	}
	var err error
	if desired.Children, err = p.withNamespaceOwners(ctx, desired.Children); err != nil {
		return err
	}
	p.detector.BeginPass(p.parent.GetUID())
	var held []apply.Change
	changes, err := apply.Diff(apply.Input{
		Owner: p.owner(), Rules: p.rules,
		Observed: excluding(p.observed.Children, desired.Keep), Desired: excluding(desired.Children, desired.Keep),
		ManagedFields: p.appliedFields, Memory: p.history.Comparisons, Held: func(c apply.Change) { held = append(held, c) },
	})
	if err != nil {
		return err
	}
	p.reportOutdated(held)
	changes = append(p.ownershipChanges(), p.filterChanges(ctx, changes)...)
	if err := p.checkWrites(ctx, changes); err != nil {
		return err
	}
	failed := p.execute(ctx, p.env.Children, changes, p.renewChild(desired))
	return failure.Join(append(p.writes.unapplied, failed))
}

// rulesBySchema returns the rules for children with the current schemas of their kinds.
func (r *shared) rulesBySchema(ctx context.Context) []apply.Rule {
	rules := slices.Clone(r.sources.Rules)
	for i := range rules {
		rules[i].Schema = r.env.Schemas.For(ctx, rules[i].Kind)
	}
	return rules
}

// SchemaChanges returns how often the known schemas of the definition's parents and children
// have changed. It costs no request.
func (r *shared) SchemaChanges() uint64 { return r.env.Schemas.Changes(r.sources.Kinds...) }

// excluding returns the objects that are not in keep.
func excluding(objects []*unstructured.Unstructured, keep map[apply.Key]bool) []*unstructured.Unstructured {
	if len(keep) == 0 {
		return objects
	}
	var others []*unstructured.Unstructured
	for _, object := range objects {
		if !keep[apply.KeyOf(object)] {
			others = append(others, object)
		}
	}
	return others
}

// execute writes changes through client and returns the errors of those that failed. renew is
// apply.Options.Renew.
func (p *pass) execute(ctx context.Context, client dynamic.Interface, changes []apply.Change, renew renewFunc) error {
	if len(changes) == 0 {
		return nil
	}
	p.writes.any, p.writes.children = true, true
	changes, errs := p.filterByNamespace(changes)
	options := apply.Options{Parallel: p.env.Writes, FieldManager: ownManager, Renew: renew, MayDelete: p.mayDelete}
	for _, result := range apply.Execute(ctx, client, changes, options) {
		p.noteOutcome(result)
		p.writes.awaitsEvents = p.writes.awaitsEvents || result.Err == nil && !result.NoEffect()
		errs = append(errs, p.explain(ctx, result))
	}
	p.writes.failed = append(p.writes.failed, errs...)
	return failure.Join(errs)
}

// owner returns the controllerRef of the parent's children.
func (p *pass) owner() metav1.OwnerReference {
	return *metav1.NewControllerRef(p.parent, p.source.Kind)
}

// ownershipChanges returns the adoptions and releases of children.
func (p *pass) ownershipChanges() []apply.Change {
	var ownership []apply.Change
	for _, object := range p.observed.Release {
		ownership = append(ownership, apply.Release(object, p.owner(), p.resourceOf(object)))
	}
	for _, object := range p.observed.Adopt {
		ownership = append(ownership, apply.Adopt(object, p.owner(), p.resourceOf(object)))
	}
	return ownership
}

// ensureAlive reads the parent from the API server before children are adopted (section 3.4 of
// the specification). It returns ErrLater if the parent is gone, as the cache may not show that
// yet. A parent that is being finalized takes back what its finalize hook wants.
func (p *pass) ensureAlive(ctx context.Context) error {
	live, err := p.get(ctx, p.source.GroupVersionResource, p.parent.GetNamespace(), p.parent.GetName())
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the parent is gone", controller.ErrLater)
	case err != nil:
		return fmt.Errorf("looking at the parent before adopting: %w", err)
	case live.GetUID() != p.parent.GetUID() || live.GetDeletionTimestamp() != nil && !p.observed.Deleting():
		return fmt.Errorf("%w: the parent is being deleted or another of its name is there", controller.ErrLater)
	}
	return nil
}

// get reads an object from the API server.
func (r *shared) get(
	ctx context.Context, resource schema.GroupVersionResource, namespace, name string,
) (*unstructured.Unstructured, error) {
	return r.env.Client.Resource(resource).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

// noteOutcome records a write until the caches show it, and logs it.
func (p *pass) noteOutcome(result apply.Result) {
	p.env.Metrics.CountWrite(p.config.Definition, result)
	p.history.Note(result)
	change := result.Change
	if p.env.Access != nil && change.Action == apply.ActionCreate && apierrors.IsForbidden(result.Err) {
		p.env.Access.Forget(p.config.Account, change.Resource, change.Key.Namespace)
	}
	switch {
	case result.Err != nil:
		return
	case result.Gone:
		p.pendingWrites.NoteDeleted(p.parent.GetUID(), change.Observed)
		return
	}
	p.logChild(change)
	p.noteChanged(change)
	p.reportUnknownFields(result)
	p.reportShared(change)
	p.noteOwnWrite(result)
	p.detectHotLoop(change)
	if result.Object == nil {
		p.pendingWrites.NoteDeleted(p.parent.GetUID(), change.Observed)
		return
	}
	p.noteWrite(result)
}

// resourceOf returns the resource of an observed object.
func (r *shared) resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	if source := r.sources.ChildrenOf(object.GroupVersionKind()); source != nil {
		return source.GroupVersionResource
	}
	return schema.GroupVersionResource{} // Can not happen: all observed children are of declared kinds.
}

// renewFunc returns a change recomputed for the live object, or nil if it is not needed any
// more.
type renewFunc func(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error)

// renewChild returns a renewFunc for children. It applies the rules of claiming and computes the
// difference again. It is safe for concurrent use.
func (p *pass) renewChild(desired variant.Desired) renewFunc {
	return func(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error) {
		fields, _, err := unstructured.NestedSlice(live.Object, "metadata", "managedFields")
		if err != nil {
			return nil, err
		}
		live = variant.WithMetadata(live)
		live.SetManagedFields(nil) // Like cached objects.
		claimed := claims.Children(p.parent, p.claim, []*unstructured.Unstructured{live})
		switch {
		case change.Action == apply.ActionAdopt, change.Action == apply.ActionRelease:
			return p.renewOwnership(change, live, claimed), nil
		case len(claimed.Owned) == 0:
			return nil, nil
		}
		input := apply.Input{
			Owner: p.owner(), Rules: p.rules, Observed: claimed.Owned,
			ManagedFields: func(*unstructured.Unstructured) []any { return fields },
		}
		for _, child := range desired.Children {
			if apply.KeyOf(child) == change.Key {
				input.Desired = append(input.Desired, child)
			}
		}
		changes, err := apply.Diff(input)
		if err != nil || len(changes) == 0 {
			return nil, err
		}
		return &changes[0], nil
	}
}

// renewOwnership returns the adoption or release recomputed for live, or nil if change is
// neither or live is claimed differently.
func (p *pass) renewOwnership(change apply.Change, live *unstructured.Unstructured, claimed claims.Result) *apply.Change {
	var renewed apply.Change
	switch {
	case change.Action == apply.ActionAdopt && len(claimed.Adopt) > 0:
		renewed = apply.Adopt(live, p.owner(), change.Resource)
	case change.Action == apply.ActionRelease && len(claimed.Release) > 0:
		renewed = apply.Release(live, p.owner(), change.Resource)
	default:
		return nil
	}
	return &renewed
}
