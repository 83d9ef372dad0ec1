package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
)

// history is all revisions of a parent and which of them each child is of.
type history struct {
	updateRevision *revision
	// old are the others, newest first.
	oldRevisions    []*revision
	revisionByChild map[childID]*revision
}

// history finds the revision that the parent is at, which may be an old one
// again, and makes it if there is none (section 3.9 of the specification).
func (v *Variant) history(observed variant.Observed) (*history, error) {
	stored, err := readRevisions(observed)
	if err != nil {
		return nil, err
	}
	h := &history{oldRevisions: stored}
	patch := patchOf(observed.Parent.Object, v.paths)
	at := slices.IndexFunc(stored, func(r *revision) bool { return apply.Equal(r.patch, patch) })
	if at >= 0 {
		h.updateRevision = stored[at]
		h.oldRevisions = slices.Delete(stored, at, at+1)
	} else if h.updateRevision, err = v.newRevision(observed.Parent, patch, stored); err != nil {
		return nil, err
	}
	h.revisionByChild = v.revisionByChild(h)
	return h, nil
}

// live are the revisions that some child is of, the latest first and in any case.
func (h *history) live() []*revision {
	held := map[*revision]bool{}
	for _, r := range h.revisionByChild {
		held[r] = true
	}
	live := []*revision{h.updateRevision}
	for _, r := range h.oldRevisions {
		if held[r] {
			live = append(live, r)
		}
	}
	return live
}

// parentOf gives the parent as it was at a revision.
func (v *Variant) parentAt(h *history, r *revision, observed variant.Observed) *unstructured.Unstructured {
	if r == h.updateRevision {
		return observed.Parent
	}
	return &unstructured.Unstructured{Object: withPatch(observed.Parent.Object, r.patch, v.paths)}
}
