package parent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
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
	failed := p.execute(ctx, p.env.Children, append(p.ownershipChanges(), p.filterChanges(ctx, changes)...), p.renewChild(desired))
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
	for _, outcome := range apply.Execute(ctx, client, changes, options) {
		p.noteOutcome(outcome)
		p.writes.awaitsEvents = p.writes.awaitsEvents || outcome.Err == nil && !outcome.NoEffect()
		errs = append(errs, p.explain(ctx, outcome))
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
// yet.
func (p *pass) ensureAlive(ctx context.Context) error {
	live, err := p.get(ctx, p.source.GroupVersionResource, p.parent.GetNamespace(), p.parent.GetName())
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("%w: the parent is gone", controller.ErrLater)
	case err != nil:
		return fmt.Errorf("looking at the parent before adopting: %w", err)
	case live.GetUID() != p.parent.GetUID() || live.GetDeletionTimestamp() != nil:
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
func (p *pass) noteOutcome(outcome apply.Outcome) {
	p.env.Metrics.countWrite(p.config.Definition, outcome)
	p.history.Note(outcome)
	change := outcome.Change
	if p.env.Access != nil && change.Action == apply.ActionCreate && apierrors.IsForbidden(outcome.Err) {
		p.env.Access.Forget(p.config.Account, change.Resource, change.Key.Namespace)
	}
	switch {
	case outcome.Err != nil:
		return
	case outcome.Gone:
		p.pendingWrites.NoteDeleted(p.parent.GetUID(), change.Observed)
		return
	}
	p.logChild(change)
	p.noteChanged(change)
	p.reportUnknownFields(outcome)
	p.reportShared(change)
	p.noteOwnWrite(outcome)
	p.detectHotLoop(change)
	if outcome.Object == nil {
		p.pendingWrites.NoteDeleted(p.parent.GetUID(), change.Observed)
		return
	}
	p.noteWrite(outcome)
}

// explain returns the error of a failed write with a remedy, or ErrLater if the write met a
// newer version.
func (p *pass) explain(ctx context.Context, outcome apply.Outcome) error {
	var held *failure.Error
	if errors.As(outcome.Err, &held) {
		return &failure.Error{Reason: held.Reason, Retry: held.Retry, Err: fmt.Errorf("%s: %w", outcome.Change.Key, held.Err)}
	}
	switch f := apply.Classify(outcome.Err); f {
	case apply.FailureNone:
		return nil
	case apply.FailureConflict:
		return fmt.Errorf("%w: %w", controller.ErrLater, outcome.Err)
	case apply.FailureAlreadyExists:
		return p.explainExisting(ctx, outcome.Change)
	case apply.FailureFieldConflict:
		return writes.FieldConflictError(outcome)
	case apply.FailureNamespaceMissing:
		if outcome.Change.Action != apply.ActionCreate {
			return fmt.Errorf("%w: %w", controller.ErrLater, outcome.Err) // The object that is gone is a Namespace.
		}
		return p.namespaceMissing(outcome.Change.Key, outcome.Err)
	default:
		return &failure.Error{Reason: variant.ReasonApplyFailed, Retry: failure.RetryOfWrite(f), Err: p.withFieldRemedy(outcome)}
	}
}

// explainExisting returns why the object that blocks a creation cannot be adopted.
func (p *pass) explainExisting(ctx context.Context, change apply.Change) error {
	live, err := p.get(ctx, change.Resource, change.Key.Namespace, change.Key.Name)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", change.Key, controller.ErrLater, err)
	}
	p.creationWaiters.Add(change.Key, p.key)
	blocking := p.blockingObject
	if p.isRevision(change) {
		blocking = p.blockingRevision
	}
	why, passes := blocking(live)
	if passes {
		return fmt.Errorf("%s: %w: %s", change.Key, controller.ErrLater, why)
	}
	return &failure.Error{Reason: variant.ReasonAlreadyOwned, Retry: controller.AlreadyExists, Err: fmt.Errorf("%s %s", change.Key, why)}
}

// blockingObject returns why an existing object is not a child of the parent, and whether that
// is temporary.
func (p *pass) blockingObject(live *unstructured.Unstructured) (why string, passes bool) {
	owner := informer.ControllerOf(live)
	switch {
	case live.GetDeletionTimestamp() != nil && p.env.Clock.Since(live.GetDeletionTimestamp().Time) < maxSilentDeletion:
		return "one of that name is still being deleted", true
	case live.GetDeletionTimestamp() != nil:
		return fmt.Sprintf("is being deleted since %s, and is still there (finalizers: %s): it is created when that one is gone",
			live.GetDeletionTimestamp().UTC().Format(time.RFC3339), strings.Join(live.GetFinalizers(), ", ")), false
	case owner == nil && isOfCluster(live):
		return "exists, and the cluster keeps it for itself: let the hook choose another name", false
	case owner == nil && p.claim.Selector == nil:
		return "exists and has no owner, and is not adopted: let the hook choose another name, or delete the object", false
	case owner == nil:
		return "exists, has no owner and its labels do not match the parent's selector: label it so that it is adopted, or delete it", false
	case owner.UID == p.parent.GetUID() && p.claim.Marked != nil && !p.claim.Marked(live):
		return claims.ExplainUnmarked(p.claim, live), false
	case owner.UID == p.parent.GetUID():
		return "the cache does not show it yet", true
	case p.isPredecessor(owner):
		return "it belongs to an earlier parent of that name, and waits for the garbage collector", true
	default:
		return fmt.Sprintf("exists and belongs to %s%s",
			p.describeOwner(owner), describeMakers(p.env.Registry.makers(owner, live), p.config.Definition)), false
	}
}

// ofCluster are objects that Kubernetes makes and that have no owner: in each namespace, or of one name.
var ofCluster = map[string]bool{
	"ConfigMap/kube-root-ca.crt": true, "ServiceAccount/default": true, "Namespace/default": true, "Namespace/kube-system": true,
	"Namespace/kube-public": true, "Namespace/kube-node-lease": true,
}

// isOfCluster reports whether an object is one that Kubernetes makes for itself, and would make again.
func isOfCluster(object *unstructured.Unstructured) bool {
	isAPIServer := object.GetKind() == "Service" && object.GetNamespace() == "default" && object.GetName() == "kubernetes"
	return object.GetAPIVersion() == "v1" && (isAPIServer || ofCluster[object.GetKind()+"/"+object.GetName()])
}

// maxSilentDeletion is how long an object that is being deleted may stand in the way of a creation before that is reported.
const maxSilentDeletion = time.Minute

// describeMakers returns which definitions of this process have made an object for another owner, and what to do, as the end of a sentence.
func describeMakers(makers []string, own string) string {
	if slices.Equal(makers, []string{own}) {
		return ", for which the same definition makes it: let the hook give the child of each parent a name of its own"
	}
	remedy := ": let the hook choose another name, or delete the object"
	if len(makers) == 0 {
		return remedy
	}
	return fmt.Sprintf(", for which %s makes it, while %s wants it for this one%s", strings.Join(makers, " and "), own, remedy)
}

// isPredecessor reports whether owner has the parent's kind, in any version, and name, and so is
// an earlier object of that name.
func (p *pass) isPredecessor(owner *metav1.OwnerReference) bool {
	return apiGroup(owner) == p.source.Kind.Group && owner.Kind == p.source.Kind.Kind && owner.Name == p.parent.GetName()
}

// describeOwner returns the kind and name of an owner, with its group if the kind is also the
// parent's.
func (p *pass) describeOwner(owner *metav1.OwnerReference) string {
	if owner.Kind == p.source.Kind.Kind && apiGroup(owner) != p.source.Kind.Group {
		return fmt.Sprintf("%s %s of %s", owner.Kind, owner.Name, owner.APIVersion)
	}
	return owner.Kind + " " + owner.Name
}

// apiGroup returns the API group of an owner's kind.
func apiGroup(owner *metav1.OwnerReference) string {
	group, _, found := strings.Cut(owner.APIVersion, "/")
	if !found {
		return ""
	}
	return group
}

// resourceOf returns the resource of an observed object.
func (r *shared) resourceOf(object *unstructured.Unstructured) schema.GroupVersionResource {
	if source := r.sources.ChildrenOf(object.GroupVersionKind()); source != nil {
		return source.GroupVersionResource
	}
	return schema.GroupVersionResource{} // Can not happen: all observed children are of declared kinds.
}
