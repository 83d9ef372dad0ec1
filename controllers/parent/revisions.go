package parent

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent/claims"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// observeRevisions collects the parent's ControllerRevisions (section 3.9 of the specification):
// those that it owns, whatever its selector, so that they outlive a change of the selector.
// Unlike children, orphans are never adopted: a user who may create a ControllerRevision could
// otherwise choose what children are made from.
func (p *pass) observeRevisions(created []*unstructured.Unstructured) {
	p.observed.Revisions = p.currentRevisions(created)
	sortByName(p.observed.Revisions)
}

// currentRevisions returns the parent's ControllerRevisions that the cache has now, and those that were created
// and are not in it yet.
func (p *pass) currentRevisions(created []*unstructured.Unstructured) []*unstructured.Unstructured {
	return p.ownRevisions(claims.Children(p.parent, variant.Claim{}, p.candidates(p.sources.Revisions, variant.Claim{}, created)).Owned)
}

// ownRevisions returns those of a parent's ControllerRevisions that are of its resource and of
// the definition.
func (p *pass) ownRevisions(owned []*unstructured.Unstructured) []*unstructured.Unstructured {
	resource := p.source.GroupVersionResource
	mark := labels.Set{v1alpha1.RevisionGroupLabel: resource.Group, v1alpha1.RevisionResourceLabel: resource.Resource}.AsSelector()
	own := slices.DeleteFunc(owned, func(revision *unstructured.Unstructured) bool { return !mark.Matches(labels.Set(revision.GetLabels())) })
	if p.config.Revisions.Own != nil {
		own = p.config.Revisions.Own(own)
	}
	return own
}

// writeRevisions makes the parent's ControllerRevisions the desired ones. They hold the progress
// of a rollout, so that children may only be written after them: any failure ends the pass.
func (p *pass) writeRevisions(ctx context.Context, desired variant.Desired) error {
	if p.sources.Revisions == nil || desired.Revisions == nil {
		return nil
	}
	changes := revisionChanges(p.observed.Revisions, desired.Revisions, p.owner(), p.sources.Revisions.GroupVersionResource)
	return p.execute(ctx, p.env.Client, changes, p.renewRevision)
}

// revisionChanges compares revisions by name. A desired revision is complete. One that does not
// change is the observed object itself.
func revisionChanges(
	observed, desired []*unstructured.Unstructured, owner metav1.OwnerReference, resource schema.GroupVersionResource,
) []apply.Change {
	byName := map[string]*unstructured.Unstructured{}
	for _, revision := range observed {
		byName[revision.GetName()] = revision
	}
	var changes []apply.Change
	for _, revision := range desired {
		before := byName[revision.GetName()]
		delete(byName, revision.GetName())
		change := apply.Change{Key: apply.KeyOf(revision), Resource: resource, Object: revision, Observed: before, Owner: owner}
		switch {
		case before == nil:
			change.Action, change.Object = apply.ActionCreate, ownedObject(revision, owner)
		case before == revision || jsonvalue.Equal(before.Object, revision.Object):
			continue
		default:
			change.Action = apply.ActionUpdate
		}
		changes = append(changes, change)
	}
	for _, revision := range observed {
		if byName[revision.GetName()] != nil && revision.GetDeletionTimestamp() == nil {
			changes = append(changes, apply.Change{
				Action: apply.ActionDelete, Key: apply.KeyOf(revision), Resource: resource, Object: revision, Observed: revision,
			})
		}
	}
	return changes
}

func ownedObject(object *unstructured.Unstructured, owner metav1.OwnerReference) *unstructured.Unstructured {
	owned := variant.WithMetadata(object)
	owned.SetOwnerReferences([]metav1.OwnerReference{owner})
	return owned
}

// isRevision reports whether a change is of a ControllerRevision.
func (p *pass) isRevision(change apply.Change) bool {
	return p.sources.Revisions != nil && change.Resource == p.sources.Revisions.GroupVersionResource
}

// blockingRevision returns why an existing ControllerRevision is not the parent's, and whether
// that is temporary.
func (p *pass) blockingRevision(live *unstructured.Unstructured) (why string, passes bool) {
	owner, cached := informer.ControllerOf(live), p.sources.Revisions.Cache.Get(live.GetNamespace(), live.GetName())
	// The cache may have got it, or its labels, since this pass has observed.
	isLive := func(o *unstructured.Unstructured) bool { return o.GetUID() == live.GetUID() }
	switch {
	case live.GetDeletionTimestamp() != nil:
		return p.blockingObject(live)
	case owner == nil:
		return "exists and has no owner, and is not adopted, as any user could have made it: delete it", false
	case owner.UID == p.parent.GetUID() && sameVersion(cached, live) && !slices.ContainsFunc(p.currentRevisions(nil), isLive):
		return fmt.Sprintf("exists and belongs to the parent, but its labels are not those of a ControllerRevision of this definition "+
			"(%s, %s, %s): delete it",
			v1alpha1.RevisionGroupLabel, v1alpha1.RevisionResourceLabel, v1alpha1.CompositeLabel), false
	case owner.UID != p.parent.GetUID() && !p.isPredecessor(owner):
		return fmt.Sprintf("exists and belongs to %s: delete it", p.describeOwner(owner)), false
	}
	return p.blockingObject(live)
}

// sameVersion reports whether the cache has the version of an object that the API server has.
func sameVersion(cached, live *unstructured.Unstructured) bool {
	return cached != nil && cached.GetUID() == live.GetUID() && cached.GetResourceVersion() == live.GetResourceVersion()
}

// ScriptRevisions returns the IDs of the revisions of the scripts by which children were made, and whether that is known: it is not before
// the cache of ControllerRevisions is synced.
func (r *Reconciler) ScriptRevisions() (ids []string, known bool) {
	switch {
	case r.sources.Revisions == nil || r.config.Revisions.Scripts == nil:
		return nil, true
	case !r.sources.Revisions.Cache.HasSynced():
		return nil, false
	}
	return r.config.Revisions.Scripts(r.sources.Revisions.Cache.List()), true
}

// renewRevision recomputes deletions of ControllerRevisions. It returns nil for an update: that
// depends on the content of the revision, so that the next pass has to observe it first.
func (p *pass) renewRevision(change apply.Change, live *unstructured.Unstructured) (*apply.Change, error) {
	claimed := claims.Children(p.parent, variant.Claim{}, []*unstructured.Unstructured{live})
	if change.Action != apply.ActionDelete || len(claimed.Owned) == 0 {
		return nil, nil
	}
	change.Object, change.Observed = live, live
	return &change, nil
}
