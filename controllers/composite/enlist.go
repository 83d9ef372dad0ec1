package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// enlist decides of which revision members are made that are missing and that no
// revision of theirs wants. It is the latest, unless a member is held back while a
// rollout of its kind is under way: then, as in a StatefulSet, it is an old one.
func (r *rollout) enlist(added []*child) {
	if !slices.ContainsFunc(added, func(m *child) bool { return heldBack(m) != "" }) {
		for _, m := range added {
			m.holder = r.latest
		}
		return
	}
	underWay, remaining := r.remaining()
	for _, m := range added {
		old := remaining[m.id.GroupKind]
		at := slices.IndexFunc(old, func(rev *revision) bool { return r.versions[rev][m.key] != nil })
		switch {
		case heldBack(m) == "":
			m.holder = r.latest
		case at >= 0:
			m.holder, m.old = old[at], r.versions[old[at]][m.key]
		case underWay[m.id.GroupKind]:
			m.holder, m.unmade = nil, true
			r.unmade = append(r.unmade, m)
		default:
			m.holder = r.latest
		}
	}
}

// remaining returns the kinds of which a wanted child is not of the latest revision,
// and the old revisions that still have children of each kind, the newest first. A
// child that is no longer wanted counts there: what takes its place is of its revision.
func (r *rollout) remaining() (underWay map[schema.GroupKind]bool, old map[schema.GroupKind][]*revision) {
	underWay, old = map[schema.GroupKind]bool{}, map[schema.GroupKind][]*revision{}
	moved := map[childID]bool{}
	for _, m := range r.members {
		moved[m.id] = m.holder == r.latest || m.observed == nil && m.old == nil
		underWay[m.id.GroupKind] = underWay[m.id.GroupKind] || !moved[m.id]
	}
	for _, rev := range r.history.old {
		for _, id := range rev.claims {
			if r.history.holder[id] == rev && !moved[id] && !slices.Contains(old[id.GroupKind], rev) {
				old[id.GroupKind] = append(old[id.GroupKind], rev)
			}
		}
	}
	return underWay, old
}
