package parent

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// observeRevisions collects the parent's ControllerRevisions (section 3.9 of the specification).
// It has its own rule: those of the parent's resource that it owns are kept even if the selector
// no longer matches, so that they outlive a change of the selector. Orphans are adopted only if
// the selector matches too. Revisions of other definitions are ignored.
func (p *pass) observeRevisions(claim variant.Claim, created []*unstructured.Unstructured) {
	resource := p.source.GroupVersionResource
	mark := labels.Set{v1alpha1.RevisionGroupLabel: resource.Group, v1alpha1.RevisionResourceLabel: resource.Resource}.AsSelector()
	var adoptable variant.Claim
	if requirements, selectable := mark.Requirements(); selectable && claim.Selector != nil {
		adoptable.Selector = claim.Selector.Add(requirements...)
	}
	p.revisionClaim = adoptable
	c := claimChildren(p.parent, adoptable, p.candidates(p.revisions, adoptable, created))
	all := slices.DeleteFunc(slices.Concat(c.owned, c.release, c.adopt), func(revision *unstructured.Unstructured) bool {
		return !mark.Matches(labels.Set(revision.GetLabels()))
	})
	if p.config.OwnRevisions != nil {
		all = p.config.OwnRevisions(all)
	}
	p.observed.Revisions = all
	sortByName(p.observed.Revisions)
	for _, revision := range c.adopt {
		if slices.Contains(all, revision) {
			p.adoptRevisions = append(p.adoptRevisions, revision)
		}
	}
}

// writeRevisions makes the parent's ControllerRevisions the desired ones. They hold the progress
// of a rollout, so that children may only be written after them: any failure ends the pass.
func (p *pass) writeRevisions(ctx context.Context, desired variant.Desired) error {
	if p.revisions == nil || desired.Revisions == nil {
		return nil
	}
	var changes []apply.Change
	for _, revision := range p.adoptRevisions {
		changes = append(changes, apply.Adopt(revision, p.owner(), p.revisions.GroupVersionResource))
	}
	changes = append(changes, revisionChanges(p.observed.Revisions, desired.Revisions, p.owner(), p.revisions.GroupVersionResource)...)
	return p.execute(ctx, changes, p.renewRevision)
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
