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
func (v *Variant) records(observed variant.Observed, h *history, r *rollout) ([]*unstructured.Unstructured, error) {
	latest, err := v.latestRecord(observed, h, r)
	if err != nil {
		return nil, err
	}
	var old []*unstructured.Unstructured
	idle := 0
	for _, rev := range h.old {
		held := r.heldBy(rev)
		if len(held) == 0 {
			idle++
		}
		if len(held) > 0 || idle <= v.config.Spec.RevisionLimit() {
			old = append(old, rev.record(held, v.label))
		}
	}
	slices.Reverse(old)
	return append([]*unstructured.Unstructured{latest}, old...), nil
}

// heldBy gives the children that are of a revision.
func (r *rollout) heldBy(rev *revision) []childID {
	var held []childID
	for _, m := range r.members {
		if m.holder == rev {
			held = append(held, m.id)
		}
	}
	return held
}

// record returns the stored revision with other children, and then with the
// definition's label, or as it is.
func (r *revision) record(held []childID, label string) *unstructured.Unstructured {
	if sameClaims(held, r.claims) {
		return r.stored
	}
	set := r.stored.GetLabels()
	if set == nil {
		set = map[string]string{}
	}
	set[v1alpha1.CompositeLabel] = label
	changed := variant.WithMetadata(r.stored)
	changed.SetLabels(set)
	setClaims(changed, held)
	return changed
}

func (v *Variant) latestRecord(observed variant.Observed, h *history, r *rollout) (*unstructured.Unstructured, error) {
	held := r.heldBy(h.latest)
	if h.latest.stored == nil {
		return v.newRecord(observed.Parent, h.latest, held)
	}
	record := h.latest.record(held, v.label)
	if len(r.moved) > 0 {
		record = stamped(record, observed.Now)
	}
	return record, nil
}

// stamped notes that a child was moved to a revision.
func stamped(record *unstructured.Unstructured, now time.Time) *unstructured.Unstructured {
	annotations := record.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[movedAt] = stamp(now)
	record = variant.WithMetadata(record)
	record.SetAnnotations(annotations)
	return record
}

// newRecord is a ControllerRevision that is yet to be made. Whoever writes it
// adds the owner reference.
func (v *Variant) newRecord(p *unstructured.Unstructured, r *revision, held []childID) (*unstructured.Unstructured, error) {
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
	set := satisfying(claim.Selector, templateLabels(p))
	set[v1alpha1.RevisionGroupLabel] = v.config.Parent.Group
	set[v1alpha1.RevisionResourceLabel] = v.config.Parent.GroupVersionResource.Resource
	set[v1alpha1.CompositeLabel] = v.label
	record.SetLabels(set)
	record.SetAnnotations(map[string]string{numberAnnotation: strconv.Itoa(r.number)})
	setClaims(record, held)
	return record, nil
}

func setClaims(record *unstructured.Unstructured, held []childID) {
	delete(record.Object, "children")
	if len(held) > 0 {
		record.Object["children"] = claimed(held)
	}
}
