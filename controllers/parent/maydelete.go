package parent

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/sources"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// DeletionGuard bounds what an edit of a definition or of its scripts deletes. Its methods are called by several goroutines.
type DeletionGuard interface {
	// MayDelete returns why a pass with a revision of the scripts must not delete or recreate a child, or nil.
	MayDelete(ctx context.Context, revision string, loss Deletion) error
	// NoteSynced notes that a pass of a parent has succeeded, or that the parent is gone.
	NoteSynced(parent apply.Key)
	// IsSettled reports whether what a parent has asked for is not the fault of a revision.
	IsSettled(revision string) bool
}

// Deletion is a child that is about to be deleted, or recreated.
type Deletion struct {
	Parent, Child apply.Key
	ChildCreated  time.Time
	Recreates     bool
}

// mayDelete is apply.Options.MayDelete.
func (p *pass) mayDelete(ctx context.Context, change apply.Change) error {
	recreate := change.Action == apply.ActionRecreate
	if recreate && p.env.Access != nil { // Offline there is nothing to ask.
		if err := p.env.Access.MayCreate(ctx, change.Resource, change.Key.Namespace); err != nil {
			return fmt.Errorf("it differs, and is not deleted: %w", err)
		}
	}
	rolls := p.config.Revisions.RollsScripts
	if p.isRevision(change) || recreate && rolls != nil && rolls(change.Key.Kind) { // That goes on only while what it has made is ready.
		return nil
	}
	return p.guardDeletion(ctx, change.Observed, recreate)
}

// guardDeletion returns why a child must not be deleted, or nil.
func (p *pass) guardDeletion(ctx context.Context, child *unstructured.Unstructured, recreate bool) error {
	return p.shared.guardDeletion(ctx, p.key, p.observed.Parent, p.programs.Revision, child, recreate)
}

func (r *shared) guardDeletion(
	ctx context.Context, key controller.Key, parent *unstructured.Unstructured, revision string,
	child *unstructured.Unstructured, recreate bool,
) error {
	if r.config.Guard == nil || r.requests.isChanged(key, parent) {
		return nil
	}
	err := r.config.Guard.MayDelete(ctx, revision, Deletion{
		Parent: key, Child: apply.KeyOf(child), ChildCreated: child.GetCreationTimestamp().Time, Recreates: recreate,
	})
	if err == nil {
		return nil
	}
	return &failure.Error{Reason: variant.ReasonEditHeld, Retry: controller.FieldConflict, Err: err}
}

// guardRelease returns why the finalizer of a parent that is being deleted must stay, although the definition has no finalize hook any
// more, or nil: without it the garbage collector deletes the children.
func (r *Reconciler) guardRelease(
	ctx context.Context, key controller.Key, parent *unstructured.Unstructured, source *sources.Parent,
) error {
	if r.config.Guard == nil || r.config.Finalizing.Enabled || parent.GetDeletionTimestamp() == nil || !source.HasFinalizer(parent) {
		return nil
	}
	children, err := r.findLastingChildren(parent)
	for _, child := range children {
		if apply.NamespaceOwnerOf(child) != nil {
			continue
		}
		if err := r.guardDeletion(ctx, key, parent, r.config.Programs(parent).Revision, child, false); err != nil {
			return err
		}
	}
	return err
}

// guardFinalizer returns why the finalizer must stay, or nil: without it the garbage collector deletes the children.
func (p *pass) guardFinalizer(ctx context.Context, desired variant.Desired) error {
	if p.config.Guard == nil || !p.removesFinalizer(p.parent, desired) {
		return nil
	}
	for _, child := range p.observed.Children {
		if child.GetDeletionTimestamp() != nil || apply.NamespaceOwnerOf(child) != nil {
			continue
		}
		if err := p.guardDeletion(ctx, child, false); err != nil {
			return err
		}
	}
	return nil
}

// withNamespaceOwners returns the desired children with an owner that stays for those that are not deleted with their parent, unless they
// have it: it is in the request that creates one. A namespace that is not there yet is no owner before the next pass.
func (p *pass) withNamespaceOwners(ctx context.Context, desired []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	if !slices.ContainsFunc(p.rules, func(rule apply.Rule) bool { return rule.Orphan }) {
		return desired, nil
	}
	owners, has := map[string]map[string]any{}, map[apply.Key]bool{}
	for _, child := range p.observed.Children {
		has[apply.KeyOf(child)] = apply.NamespaceOwnerOf(child) != nil
	}
	desired = slices.Clone(desired)
	for i, child := range desired {
		orphan := func(rule apply.Rule) bool { return rule.Orphan && rule.Kind == child.GroupVersionKind() }
		if has[apply.KeyOf(child)] || !slices.ContainsFunc(p.rules, orphan) {
			continue
		}
		name := cmp.Or(child.GetNamespace(), metav1.NamespaceSystem)
		if _, known := owners[name]; !known {
			namespace, err := p.get(ctx, waiters.NamespaceResource, "", name)
			switch {
			case err == nil:
				owners[name] = apply.NamespaceOwner(namespace)
			case apierrors.IsNotFound(err):
				owners[name] = nil
			default:
				return nil, &failure.Error{Reason: variant.ReasonApplyFailed, Retry: failure.RetryOfWrite(apply.Classify(err)), Err: fmt.Errorf(
					"%s: deletionPolicy Orphan needs the namespace as a second owner, and it can't be read: %w", apply.KeyOf(child), err)}
			}
		}
		if owners[name] != nil {
			desired[i] = apply.WithNamespaceOwner(child, owners[name])
		}
	}
	return desired, nil
}

// takeBack adopts a child again that the parent has let go of, and that its hook wants again.
func (p *pass) takeBack(ctx context.Context, live *unstructured.Unstructured, resource schema.GroupVersionResource) error {
	if err := p.ensureAlive(ctx); err != nil {
		return err
	}
	adoption := apply.Adopt(live, p.owner(), resource)
	if err := p.execute(ctx, p.env.Children, []apply.Change{adoption}, nil); err != nil {
		return err
	}
	return fmt.Errorf("%s: %w: the parent has let go of it, and has adopted it again", adoption.Key, controller.ErrLater)
}

// requests holds what each parent asked for when it was synced last by an edit that has settled, or for the first time: what a parent asks
// for since then is not the fault of an edit.
type requests struct {
	mu       sync.Mutex
	byParent map[controller.Key]request
}

// request identifies what a parent asks for: its generation, or the hash of its content if it has none.
type request struct {
	uid     types.UID
	version uint64
}

func newRequests() *requests { return &requests{byParent: map[controller.Key]request{}} }

func requestOf(parent *unstructured.Unstructured) request {
	version := uint64(parent.GetGeneration()) // A deletion changes it, too.
	if version == 0 {
		if version = answers.HashContent(parent, answers.CustomizeInputs); parent.GetDeletionTimestamp() != nil {
			version++
		}
	}
	return request{parent.GetUID(), version}
}

// isChanged reports whether a parent asks for something else than when it was noted.
func (r *requests) isChanged(key controller.Key, parent *unstructured.Unstructured) bool {
	r.mu.Lock()
	known, is := r.byParent[key]
	r.mu.Unlock()
	return is && known != requestOf(parent)
}

// note notes what a parent asked for in a pass that has succeeded. settled is set if the edit has.
func (r *requests) note(key controller.Key, parent *unstructured.Unstructured, settled bool) {
	now := requestOf(parent) // It may hash the parent: other passes need not wait for that.
	r.mu.Lock()
	defer r.mu.Unlock()
	if known, is := r.byParent[key]; settled || !is || known.uid != now.uid {
		r.byParent[key] = now
	}
}

// Forget drops a parent.
func (r *requests) Forget(key controller.Key) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.byParent, key)
}

// noteRequest notes what the parent asked for.
func (p *pass) noteRequest() {
	if p.config.Guard == nil {
		return
	}
	if p.config.Guard.NoteSynced(p.key); !p.unchanged {
		p.requests.note(p.key, p.observed.Parent, p.config.Guard.IsSettled(p.programs.Revision))
	}
}

// CountChildren returns the numbers of parents, and of those of their children that are not being deleted and for which counts returns
// true, by kind. The caches must be synced.
func (r *Reconciler) CountChildren(counts func(child *unstructured.Unstructured) bool) (children map[schema.GroupKind]int, parents int) {
	children = map[schema.GroupKind]int{}
	r.sources.EachParent(func(_ *sources.Parent, parent *unstructured.Unstructured) {
		parents++
		for _, child := range r.LastingChildren(parent) {
			if counts(child) {
				children[child.GroupVersionKind().GroupKind()]++
			}
		}
	})
	return children, parents
}

// LastingChildren returns the children of a parent, without those that are being deleted. What this process has written counts, also if the
// caches do not show it yet.
func (r *Reconciler) LastingChildren(parent *unstructured.Unstructured) []*unstructured.Unstructured {
	children, _ := r.findLastingChildren(parent) // The pass fails with the error.
	return children
}

// findLastingChildren is LastingChildren. The error is why the claim of the parent can't be read.
func (r *Reconciler) findLastingChildren(parent *unstructured.Unstructured) (children []*unstructured.Unstructured, err error) {
	claim, err := r.config.Variant.Claim(parent)
	if err != nil {
		return nil, err
	}
	created := r.pendingWrites.CreatedBy(parent.GetUID())
	for i := range r.sources.Children {
		owned := r.sources.Children[i].Cache.OwnedBy(parent.GetUID())
		r.pendingWrites.SetNewest(owned)
		owned = append(owned, unknown(created, owned, r.sources.Children[i].Kind)...)
		children = append(children, claims.LastingChildren(parent, claim, owned)...)
	}
	return children, nil
}
