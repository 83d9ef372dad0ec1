package composite

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// history is all revisions of a parent and the revision of each child.
type history struct {
	// updateRevision is the present state of the parent and, if they are rolled out, of the scripts.
	updateRevision *revision
	// oldRevisions are the others, newest first.
	oldRevisions    []*revision
	revisionByChild map[childID]*revision
	// invalid are stored revisions that are not used, because their names are not those of their
	// content. They stay as they are.
	invalid []*revision
	// unusable are why the children of some old revisions are not known: other scripts made them, which can't be called.
	unusable map[*revision]error
}

// history finds the revision that equals the parent's present state, even if it is an old
// one, or makes a new one (section 3.9 of the specification).
func (v *Variant) history(observed variant.Observed) (*history, error) {
	patch, scripts := patchOf(observed.Parent.Object, v.paths), v.presentScripts(observed)
	names, err := v.revisionNames(observed.Parent, patch, scripts)
	if err != nil {
		return nil, err
	}
	h := &history{}
	for _, r := range readRevisions(observed) {
		isPresent := r.patch != nil && v.isPresentScripts(r, observed) && jsonvalue.Equal(r.patch, patch)
		switch {
		case !(isPresent && names.has(r.name)) && !v.isValidRevision(observed.Parent, r):
			h.invalid = append(h.invalid, r)
		case isPresent && h.updateRevision == nil:
			h.updateRevision = r
		default:
			h.oldRevisions = append(h.oldRevisions, r)
		}
	}
	if h.updateRevision == nil {
		h.updateRevision = newRevision(names.own, patch, scripts, h.oldRevisions)
		h.overwrite()
	}
	h.revisionByChild = v.revisionByChild(h)
	return h, nil
}

// revisionByChild returns the revision of each child: the first that lists it, beginning with
// the update revision and then newest first. Children of kinds that are no longer rolled out
// are ignored.
func (v *Variant) revisionByChild(h *history) map[childID]*revision {
	byChild := map[childID]*revision{}
	for _, r := range append([]*revision{h.updateRevision}, h.oldRevisions...) {
		for _, id := range r.childIDs {
			if v.rolling[id.GroupKind] != nil && byChild[id] == nil {
				byChild[id] = r
			}
		}
	}
	return byChild
}

// live returns the update revision and then the old revisions that have children.
func (h *history) live() []*revision {
	used := map[*revision]bool{}
	for _, r := range h.revisionByChild {
		used[r] = true
	}
	live := []*revision{h.updateRevision}
	for _, r := range h.oldRevisions {
		if used[r] {
			live = append(live, r)
		}
	}
	return live
}

// parentAt returns the parent as it was at a revision.
func (v *Variant) parentAt(h *history, r *revision, observed variant.Observed) *unstructured.Unstructured {
	if r == h.updateRevision {
		return observed.Parent
	}
	return &unstructured.Unstructured{Object: withPatch(observed.Parent.Object, r.patch, v.paths)}
}
