package composite

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// assignNew sets the revision of children that are missing and that no old revision of theirs
// wants. It is the update revision, unless a child is held while a rollout of its kind is in
// progress: then, as in a StatefulSet, it is an old one.
func (r *rollingUpdate) assignNew(added []*rollingChild) {
	if !slices.ContainsFunc(added, func(c *rollingChild) bool { return c.holdReason() != "" }) {
		for _, c := range added {
			c.revision = r.updateRevision
		}
		return
	}
	inProgress, inUse := r.revisionsInUse()
	for _, c := range added {
		old := inUse[c.id.GroupKind]
		at := slices.IndexFunc(old, func(rev *revision) bool { return r.versions[rev][c.key] != nil })
		switch {
		case c.holdReason() == "":
			c.revision = r.updateRevision
		case at >= 0:
			c.revision, c.currentVersion = old[at], r.versions[old[at]][c.key]
		case inProgress[c.id.GroupKind]:
			c.revision, c.withheld = nil, true
			r.withheld = append(r.withheld, c)
		default:
			c.revision = r.updateRevision
		}
	}
}

// revisionsInUse returns the kinds of which a desired child is not of the update revision,
// and the old revisions that still have children of each kind, newest first. Children that
// are no longer desired count for the latter: their replacements are of the same revision.
func (r *rollingUpdate) revisionsInUse() (inProgress map[schema.GroupKind]bool, inUse map[schema.GroupKind][]*revision) {
	inProgress, inUse = map[schema.GroupKind]bool{}, map[schema.GroupKind][]*revision{}
	updated := map[childID]bool{}
	for _, c := range r.children {
		updated[c.id] = c.revision == r.updateRevision || c.observed == nil && c.currentVersion == nil
		inProgress[c.id.GroupKind] = inProgress[c.id.GroupKind] || !updated[c.id]
	}
	for _, rev := range r.oldRevisions {
		for _, id := range rev.childIDs {
			if r.revisionByChild[id] == rev && !updated[id] && !slices.Contains(inUse[id.GroupKind], rev) {
				inUse[id.GroupKind] = append(inUse[id.GroupKind], rev)
			}
		}
	}
	return inProgress, inUse
}
