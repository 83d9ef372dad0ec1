package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// enlist decides of which revision members are made that are missing and that no
// revision of theirs wants. It is the latest, unless a member is held back while a
// rollout of its kind is under way: then, as in a StatefulSet, it is an old one.
func (r *rollout) assignNew(added []*rollingChild) {
	if !slices.ContainsFunc(added, func(m *rollingChild) bool { return holdReason(m) != "" }) {
		for _, m := range added {
			m.revision = r.updateRevision
		}
		return
	}
	underWay, remaining := r.revisionsInUse()
	for _, m := range added {
		old := remaining[m.id.GroupKind]
		at := slices.IndexFunc(old, func(rev *revision) bool { return r.versions[rev][m.key] != nil })
		switch {
		case holdReason(m) == "":
			m.revision = r.updateRevision
		case at >= 0:
			m.revision, m.currentVersion = old[at], r.versions[old[at]][m.key]
		case underWay[m.id.GroupKind]:
			m.revision, m.withheld = nil, true
			r.withheld = append(r.withheld, m)
		default:
			m.revision = r.updateRevision
		}
	}
}

// remaining returns the kinds of which a wanted child is not of the latest revision,
// and the old revisions that still have children of each kind, the newest first. A
// child that is no longer wanted counts there: what takes its place is of its revision.
func (r *rollout) revisionsInUse() (underWay map[schema.GroupKind]bool, old map[schema.GroupKind][]*revision) {
	underWay, old = map[schema.GroupKind]bool{}, map[schema.GroupKind][]*revision{}
	moved := map[childID]bool{}
	for _, m := range r.children {
		moved[m.id] = m.revision == r.updateRevision || m.observed == nil && m.currentVersion == nil
		underWay[m.id.GroupKind] = underWay[m.id.GroupKind] || !moved[m.id]
	}
	for _, rev := range r.history.oldRevisions {
		for _, id := range rev.childIDs {
			if r.history.revisionByChild[id] == rev && !moved[id] && !slices.Contains(old[id.GroupKind], rev) {
				old[id.GroupKind] = append(old[id.GroupKind], rev)
			}
		}
	}
	return underWay, old
}
