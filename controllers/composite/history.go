package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// history is all revisions of a parent and which of them each child is of.
type history struct {
	latest *revision
	// old are the others, newest first.
	old    []*revision
	holder map[childID]*revision
}

// history finds the revision that the parent is at, which may be an old one
// again, and makes it if there is none (section 3.9 of the specification).
func (v *Variant) history(observed variant.Observed) (*history, error) {
	stored, err := readRevisions(observed)
	if err != nil {
		return nil, err
	}
	h := &history{old: stored}
	patch := patchOf(observed.Parent.Object, v.paths)
	at := slices.IndexFunc(stored, func(r *revision) bool { return jsonvalue.Equal(r.patch, patch) })
	if at >= 0 {
		h.latest = stored[at]
		h.old = slices.Delete(stored, at, at+1)
	} else if h.latest, err = v.newRevision(observed.Parent, patch, stored); err != nil {
		return nil, err
	}
	h.holder = v.holders(h)
	return h, nil
}

// live are the revisions that some child is of, the latest first and in any case.
func (h *history) live() []*revision {
	held := map[*revision]bool{}
	for _, r := range h.holder {
		held[r] = true
	}
	live := []*revision{h.latest}
	for _, r := range h.old {
		if held[r] {
			live = append(live, r)
		}
	}
	return live
}

// parentOf gives the parent as it was at a revision.
func (v *Variant) parentOf(h *history, r *revision, observed variant.Observed) *unstructured.Unstructured {
	if r == h.latest {
		return observed.Parent
	}
	return &unstructured.Unstructured{Object: patched(observed.Parent.Object, r.patch, v.paths)}
}
