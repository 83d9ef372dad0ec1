package composite

import (
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// records gives the ControllerRevisions that are to be there: the latest, then
// the old ones by age, the newest last, without those that have no children and
// exceed revisionHistoryLimit. One that stays as it is is the observed object itself.
func (v *Variant) desiredRevisions(observed variant.Observed, h *history, r *rollout) ([]*unstructured.Unstructured, error) {
	latest, err := v.desiredUpdateRevision(observed, h, r)
	if err != nil {
		return nil, err
	}
	var old []*unstructured.Unstructured
	idle := 0
	for _, rev := range h.oldRevisions {
		held := r.childIDsOf(rev)
		if len(held) == 0 {
			idle++
		}
		if len(held) > 0 || idle <= v.config.Spec.RevisionLimit() {
			old = append(old, rev.withChildIDs(held, v.label))
		}
	}
	slices.Reverse(old)
	return append([]*unstructured.Unstructured{latest}, old...), nil
}

// heldBy gives the children that are of a revision.
func (r *rollout) childIDsOf(rev *revision) []childID {
	var held []childID
	for _, m := range r.children {
		if m.revision == rev {
			held = append(held, m.id)
		}
	}
	return held
}

// record returns the stored revision with other children, and then with the
// definition's label, or as it is.
func (r *revision) withChildIDs(held []childID, label string) *unstructured.Unstructured {
	if sameChildIDs(held, r.childIDs) {
		return r.stored
	}
	set := r.stored.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.CompositeLabel] = label
	changed := variant.WithMetadata(r.stored)
	changed.SetLabels(set)
	setChildIDs(changed, held)
	return changed
}

func (v *Variant) desiredUpdateRevision(observed variant.Observed, h *history, r *rollout) (*unstructured.Unstructured, error) {
	held := r.childIDsOf(h.updateRevision)
	if h.updateRevision.stored == nil {
		return v.newRevisionObject(observed.Parent, h.updateRevision, held)
	}
	record := h.updateRevision.withChildIDs(held, v.label)
	if len(r.started) > 0 {
		record = withUpdateStartedAt(record, observed.Now)
	}
	return record, nil
}

// stamped notes that a child was moved to a revision.
func withUpdateStartedAt(record *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	annotations := record.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[updateStartedAt] = formatTime(now)
	record = variant.WithMetadata(record)
	record.SetAnnotations(annotations)
	return record
}

// newRecord is a ControllerRevision that is yet to be made. Whoever writes it
// adds the owner reference.
func (v *Variant) newRevisionObject(p *unstructured.Unstructured, r *revision, held []childID) (*unstructured.Unstructured, error) {
	claim, err := v.Claim(p)
	if err != nil {
		return nil, err
	}
	record := &unstructured.Unstructured{Object: map[string]any{"parentPatch": r.patch}}
	record.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(v1alpha1.ControllerRevisionKind))
	record.SetName(r.name)
	record.SetNamespace(v.config.RevisionNamespace)
	if p.GetNamespace() != "" {
		record.SetNamespace(p.GetNamespace())
	}
	set := labelsMatching(claim.Selector, templateLabels(p))
	set[v1alpha1.RevisionGroupLabel] = v.config.Parent.Group
	set[v1alpha1.RevisionResourceLabel] = v.config.Parent.GroupVersionResource.Resource
	set[v1alpha1.CompositeLabel] = v.label
	record.SetLabels(set)
	record.SetAnnotations(map[string]string{numberAnnotation: strconv.Itoa(r.number)})
	setChildIDs(record, held)
	return record, nil
}

func setChildIDs(record *unstructured.Unstructured, held []childID) {
	delete(record.Object, "children")
	if len(held) > 0 {
		record.Object["children"] = encodeChildIDs(held)
	}
}
