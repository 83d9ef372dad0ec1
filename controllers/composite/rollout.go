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
	latest   *revision
	history  *history
	versions versions
	members  []*child
	// middle and down count the members that are so.
	middle, down int
	// moved are the members whose update begins with this pass.
	moved []*child
	// unmade are the members that are missing and are not made in this pass.
	unmade []*child
	// wait is why the first member that is not of the latest revision is not, or
	// nil if there is none.
	wait *wait
}

// run decides of which revision each member is from now on.
func (r *rollout) run() {
	r.settle()
	r.assess()
	for _, m := range r.members {
		if m.holder == r.latest {
			continue
		}
		switch reason := heldBack(m); {
		case reason != "":
			r.holdBack(m, reason)
		case r.free(m):
			r.move(m)
		default:
			r.queue(m)
		}
	}
}

// settle moves what can be moved without an update, and then decides of which
// revision new members are made: it may have moved the last of an old one.
func (r *rollout) settle() {
	var added []*child
	for _, m := range r.members {
		switch {
		case m.fresh:
			m.holder = r.latest
		case m.old == nil && m.observed == nil && m.holder != r.latest:
			added = append(added, m)
		}
	}
	r.enlist(added)
}

func (r *rollout) assess() {
	for _, m := range r.members {
		m.assess(r.latest)
		r.count(m, 1)
	}
}

func (r *rollout) count(m *child, by int) {
	if m.middle {
		r.middle += by
	}
	if m.reason != "" {
		r.down += by
	}
}

// free says whether a member may be moved. One that is well does not go before
// one that waits already.
func (r *rollout) free(m *child) bool {
	switch {
	case m.middle:
		return r.middle-1 < m.unavailable
	case m.reason != "":
		return r.middle < m.unavailable
	default:
		return r.down < m.unavailable && !r.waiting()
	}
}

func (r *rollout) move(m *child) {
	r.count(m, -1)
	m.holder, m.middle, m.reason = r.latest, true, troubleStale
	r.count(m, 1)
	r.moved = append(r.moved, m)
}
