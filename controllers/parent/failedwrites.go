package parent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// explain returns the error of a failed write with a remedy, or ErrLater if the write met a
// newer version.
func (p *pass) explain(ctx context.Context, result apply.Result) error {
	var held *failure.Error
	if errors.As(result.Err, &held) {
		return &failure.Error{Reason: held.Reason, Retry: held.Retry, Err: fmt.Errorf("%s: %w", result.Change.Key, held.Err)}
	}
	switch f := apply.Classify(result.Err); f {
	case apply.FailureNone:
		return nil
	case apply.FailureConflict:
		return fmt.Errorf("%w: %w", controller.ErrLater, result.Err)
	case apply.FailureAlreadyExists:
		return p.explainExisting(ctx, result.Change)
	case apply.FailureFieldConflict:
		return writes.FieldConflictError(result)
	case apply.FailureNamespaceMissing:
		if result.Change.Action != apply.ActionCreate {
			return fmt.Errorf("%w: %w", controller.ErrLater, result.Err) // The object that is gone is a Namespace.
		}
		return p.namespaceMissing(result.Change.Key, result.Err)
	default:
		return &failure.Error{Reason: variant.ReasonApplyFailed, Retry: failure.RetryOfWrite(f), Err: p.withFieldRemedy(result)}
	}
}

// explainExisting returns why the object that blocks a creation cannot be adopted.
func (p *pass) explainExisting(ctx context.Context, change apply.Change) error {
	live, err := p.get(ctx, change.Resource, change.Key.Namespace, change.Key.Name)
	if err != nil {
		return fmt.Errorf("%s: %w: %w", change.Key, controller.ErrLater, err)
	}
	if claims.IsOrphanOf(live, p.parent) && (p.claim.Marked == nil || p.claim.Marked(live)) { // Not what another definition has let go of.
		return p.takeBack(ctx, live, change.Resource)
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
			p.describeOwner(owner), describeCreators(p.env.Registry.DefinitionsCreating(owner, live), p.config.Definition)), false
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

// describeCreators returns which definitions of this process have created an object for another owner, and what to do, as the end of a
// sentence.
func describeCreators(creators []string, own string) string {
	if slices.Equal(creators, []string{own}) {
		return ", for which the same definition makes it: let the hook give the child of each parent a name of its own"
	}
	remedy := ": let the hook choose another name, or delete the object"
	if len(creators) == 0 {
		return remedy
	}
	return fmt.Sprintf(", for which %s makes it, while %s wants it for this one%s", strings.Join(creators, " and "), own, remedy)
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

// filterByNamespace drops creations in namespaces that are known to be unusable. It returns an
// error for each.
func (p *pass) filterByNamespace(changes []apply.Change) (kept []apply.Change, errs []error) {
	for _, change := range changes {
		if change.Action == apply.ActionCreate && change.Key.Namespace != "" && p.namespaceWaiters.IsUnusable(p.key, change.Key.Namespace) {
			err := fmt.Errorf("%s: namespace %q is not there, or is being deleted", change.Key, change.Key.Namespace)
			errs = append(errs, p.namespaceMissing(change.Key, err))
			continue
		}
		kept = append(kept, change)
	}
	return kept, errs
}

// namespaceMissing records that the parent waits for the namespace of a child, and returns the
// error. It returns nil for a parent that is deleted with its own namespace: a failure would
// keep its finalizer, and so the namespace.
func (p *pass) namespaceMissing(child apply.Key, err error) error {
	if p.missingNamespaces == nil {
		p.missingNamespaces = map[string]bool{}
	}
	p.missingNamespaces[child.Namespace] = true
	if child.Namespace == p.parent.GetNamespace() {
		p.env.Log.V(1).Info("child not created in a namespace that goes",
			"definition", p.config.Definition, "parent", p.key.String(), "child", child.String())
		return nil
	}
	err = fmt.Errorf("%w: it is made when there is a namespace %s that is not being deleted: create it, or let the hook choose another",
		err, child.Namespace)
	return &failure.Error{Reason: variant.ReasonApplyFailed, Retry: controller.NamespaceMissing, Err: err}
}

// awaitNamespaces has the parent synced when a namespace comes that it waits for.
func (p *pass) awaitNamespaces(ctx context.Context) {
	if ctx.Err() != nil || p.env.Namespace != "" { // The only one goes, and the definition with it.
		return
	}
	if err := p.namespaceWaiters.Set(p.key, p.missingNamespaces); err != nil {
		p.env.Log.Error(err, "namespaces can't be watched", "definition", p.config.Definition)
	}
}
