package composite

// A rollout follows section 3.9 of the specification. The members that are of
// the latest revision are as its answer wants them, the others as the answer for
// their own revision does. In each pass some are moved to the latest one:
//
//   - those that it would leave as they are;
//   - those that are missing, that no old revision would make and that nothing
//     holds back;
//   - in the order of the hook, others, so long as fewer members are down than the
//     strategy of the next one allows.
//
// A member that is down loses nothing by being moved. It may be moved even while
// members before it wait for it, as it may be its old revision that keeps it
// down. So that the members of a broken revision are not all moved at once, it
// still waits for those in the middle of an update. Where it may not be moved, a
// missing child comes back as its old revision wants it, as in a StatefulSet.
//
// A child that is there and that no revision claims, or whose revision does not
// want it any more, stays as it is until it is moved. metacontroller updates it
// at once. It is there when rolling updates begin, when somebody has deleted a
// ControllerRevision, and when not all of them could be written.
//
// A child that was never there is made as the latest, unless it is held back while
// others of its kind are of old revisions: then it is made as the newest of these
// that wants it, or not at all before it is free.
type rollout struct {
	updateRevision *revision
	history        *history
	versions       versions
	children       []*rollingChild
	// middle and down count the members that are so.
	updating, unavailable int
	// moved are the members whose update begins with this pass.
	started []*rollingChild
	// unmade are the members that are missing and are not made in this pass.
	withheld []*rollingChild
	// wait is why the first member that is not of the latest revision is not, or
	// nil if there is none.
	blocker *blocker
}

// run decides of which revision each member is from now on.
func (r *rollout) run() {
	r.assignRevisions()
	r.assess()
	for _, m := range r.children {
		if m.revision == r.updateRevision {
			continue
		}
		switch reason := holdReason(m); {
		case reason != "":
			r.setHeld(m, reason)
		case r.mayUpdate(m):
			r.startUpdate(m)
		default:
			r.setWaiting(m)
		}
	}
}

// settle moves what can be moved without an update, and then decides of which
// revision new members are made: it may have moved the last of an old one.
func (r *rollout) assignRevisions() {
	var added []*rollingChild
	for _, m := range r.children {
		switch {
		case m.isUpdated:
			m.revision = r.updateRevision
		case m.currentVersion == nil && m.observed == nil && m.revision != r.updateRevision:
			added = append(added, m)
		}
	}
	r.assignNew(added)
}

func (r *rollout) assess() {
	for _, m := range r.children {
		m.assess(r.updateRevision)
		r.count(m, 1)
	}
}

func (r *rollout) count(m *rollingChild, by int) {
	if m.updating {
		r.updating += by
	}
	if m.unavailableReason != "" {
		r.unavailable += by
	}
}

// free says whether a member may be moved. One that is well does not go before
// one that waits already.
func (r *rollout) mayUpdate(m *rollingChild) bool {
	switch {
	case m.updating:
		return r.updating-1 < m.maxUnavailable
	case m.unavailableReason != "":
		return r.updating < m.maxUnavailable
	default:
		return r.unavailable < m.maxUnavailable && !r.waiting()
	}
}

func (r *rollout) startUpdate(m *rollingChild) {
	r.count(m, -1)
	m.revision, m.updating, m.unavailableReason = r.updateRevision, true, reasonNotUpdated
	r.count(m, 1)
	r.started = append(r.started, m)
}
