package parent

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// revisionClaim narrows the claim on children to ControllerRevisions of the
// parent's resource (section 3.9 of the specification). Its selector is nil, so
// that nothing is adopted or released, if the parent's labels can't be told.
func revisionClaim(claim Claim, source *parentSource) Claim {
	if claim.Selector == nil {
		return Claim{}
	}
	group, err := labels.NewRequirement(v1alpha1.RevisionGroupLabel, selection.Equals, []string{source.Group})
	if err != nil {
		return Claim{}
	}
	resource, err := labels.NewRequirement(v1alpha1.RevisionResourceLabel, selection.Equals, []string{source.GroupVersionResource.Resource})
	if err != nil {
		return Claim{}
	}
	return Claim{Selector: claim.Selector.Add(*group, *resource)}
}

// writeRevisions makes the parent's ControllerRevisions the desired ones. They
// hold how far a rollout is, so that children may only be written after them:
// any failure ends the pass.
func (p *pass) writeRevisions(ctx context.Context, desired Desired) error {
	if p.revisions == nil || desired.Revisions == nil {
		return nil
	}
	return p.execute(ctx, revisionChanges(p.observed.Revisions, desired.Revisions, p.owner(), p.revisions.GroupVersionResource))
}

// revisionChanges compares by name. A revision is desired whole; one that is to
// stay as it was observed is the observed object itself.
func revisionChanges(observed, desired []*unstructured.Unstructured, owner metav1.OwnerReference, resource schema.GroupVersionResource) []apply.Change {
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
		case before == revision || apply.Equal(before.Object, revision.Object):
			continue
		default:
			change.Action = apply.ActionUpdate
		}
		changes = append(changes, change)
	}
	for _, revision := range observed {
		if byName[revision.GetName()] != nil && revision.GetDeletionTimestamp() == nil {
			changes = append(changes, apply.Change{Action: apply.ActionDelete, Key: apply.KeyOf(revision), Resource: resource, Object: revision, Observed: revision})
		}
	}
	return changes
}

func ownedObject(object *unstructured.Unstructured, owner metav1.OwnerReference) *unstructured.Unstructured {
	owned := WithMetadata(object)
	owned.SetOwnerReferences([]metav1.OwnerReference{owner})
	return owned
}
