package composite

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// desiredRevisions returns the desired ControllerRevisions: that of the update revision, then
// the old ones, oldest first, without unused ones that exceed revisionHistoryLimit. One that
// does not change is the observed object itself, and so are invalid ones.
func (v *Variant) desiredRevisions(observed variant.Observed, r *rollingUpdate) ([]*unstructured.Unstructured, error) {
	update, err := v.desiredUpdateRevision(observed, r)
	if err != nil {
		return nil, err
	}
	var old []*unstructured.Unstructured
	var unused []*revision
	for _, rev := range r.oldRevisions {
		ids := r.childIDsOf(rev)
		switch {
		case len(ids) > 0:
		case len(unused) == v.config.Spec.RevisionLimit(), r.isRepeated(rev, unused):
			continue
		default:
			unused = append(unused, rev)
		}
		old = append(old, rev.withChildIDs(ids, v.label))
	}
	slices.Reverse(old)
	for _, rev := range r.invalid {
		old = append(old, rev.stored)
	}
	return append([]*unstructured.Unstructured{update}, old...), nil
}

// childIDsOf returns the children of a revision.
func (r *rollingUpdate) childIDsOf(rev *revision) []childID {
	var ids []childID
	for _, c := range r.children {
		if c.revision == rev {
			ids = append(ids, c.id)
		}
	}
	return ids
}

// withChildIDs returns the stored revision with other children and the definition's label,
// or the stored revision itself if the children are the same.
func (r *revision) withChildIDs(ids []childID, label string) *unstructured.Unstructured {
	if sameChildIDs(ids, r.childIDs) {
		return r.stored
	}
	changed := variant.WithMarks(r.stored, map[string]any{v1alpha1.CompositeLabel: label}, nil)
	setChildIDs(changed, ids)
	return changed
}

// desiredUpdateRevision returns the ControllerRevision of the update revision.
func (v *Variant) desiredUpdateRevision(observed variant.Observed, r *rollingUpdate) (*unstructured.Unstructured, error) {
	update := r.updateRevision
	ids := r.childIDsOf(update)
	if update.stored == nil {
		return v.newRevisionObject(observed.Parent, update, ids)
	}
	object := update.withChildIDs(ids, v.label)
	if update.overwritten {
		object = variant.WithMarks(object, map[string]any{v1alpha1.CompositeLabel: v.label}, nil)
		object.Object["parentPatch"] = update.patch
		object = withScripts(object, update.scripts)
		setChildIDs(object, ids)
	}
	if len(r.started) > 0 {
		object = variant.WithMarks(object, nil, map[string]any{updateStartedAt: formatTime(observed.Now)})
	}
	return object, nil
}

// newRevisionObject returns the ControllerRevision to create for a revision. The core adds the
// owner reference.
func (v *Variant) newRevisionObject(p *unstructured.Unstructured, r *revision, ids []childID) (*unstructured.Unstructured, error) {
	claim, err := v.Claim(p)
	if err != nil {
		return nil, err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"parentPatch": r.patch}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ControllerRevisionKind))
	object.SetName(r.name)
	object.SetNamespace(v.config.RevisionNamespace)
	if p.GetNamespace() != "" {
		object.SetNamespace(p.GetNamespace())
	}
	set := labelsMatching(claim.Selector, templateLabels(p))
	set[v1alpha1.RevisionGroupLabel] = v.config.Parent.Group
	set[v1alpha1.RevisionResourceLabel] = v.config.Parent.GroupVersionResource.Resource
	set[v1alpha1.CompositeLabel] = v.label
	object.SetLabels(set)
	object.SetAnnotations(map[string]string{numberAnnotation: strconv.Itoa(r.number)})
	object = withScripts(object, r.scripts)
	setChildIDs(object, ids)
	return object, nil
}

// setChildIDs sets the children of a ControllerRevision.
func setChildIDs(object *unstructured.Unstructured, ids []childID) {
	delete(object.Object, "children")
	if len(ids) > 0 {
		object.Object["children"] = encodeChildIDs(ids)
	}
}
