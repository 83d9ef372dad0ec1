package composite

// rollingUpdate follows section 3.9 of the specification. Children of the update revision are as
// its answer wants them, the others as the answer for their own revision does. Each reconcile
// assigns some children to the update revision:
//
//   - those that it would leave unchanged;
//   - those that are missing, that no old revision would create and that are not held;
//   - in the order of the hook, others, while fewer children are unavailable than the
//     strategy of the next one allows.
//
// An unavailable child loses nothing by an update. It may be updated before children that
// wait for it, as its old revision may be what keeps it unavailable. It still waits for
// children that are being updated, so that a broken update does not reach all at once. If it
// must wait, a missing child is created as its old revision wants it, as in a StatefulSet.
//
// An existing child that no revision lists, or that its revision no longer wants, stays as it
// is until it is updated. metacontroller updates it at once. Such children exist when rolling
// updates begin, when a user has deleted a ControllerRevision, and when not all
// ControllerRevisions could be written.
//
// A new child is created as the update revision wants it, unless it is held while others of
// its kind are of old revisions: then it is created as the newest of these that wants it, or
// not until it is released.
type rollingUpdate struct {
	*history
	versions versions
	children []*rollingChild
	// updating and unavailable count children.
	updating, unavailable int
	// started are the children whose update starts with this reconcile.
	started []*rollingChild
	// withheld are the missing children that are not created in this reconcile.
	withheld []*rollingChild
	// blocker is nil if no child of an old revision has to wait.
	blocker *blocker
}

// run sets the revision of each child.
func (r *rollingUpdate) run() {
	r.assignRevisions()
	for _, c := range r.children {
		c.assess(r.updateRevision)
		r.count(c, 1)
	}
	for _, c := range r.children {
		if c.revision == r.updateRevision {
			continue
		}
		switch reason := c.holdReason(); {
		case reason != "":
			r.setHeld(c, reason)
		case r.mayUpdate(c):
			r.startUpdate(c)
		default:
			r.setWaiting(c)
		}
	}
}

// assignRevisions sets the revision of children that need no update and then of new ones,
// which depends on the revisions that are still in use.
func (r *rollingUpdate) assignRevisions() {
	var added []*rollingChild
	for _, c := range r.children {
		switch {
		case c.isUpdated:
			c.revision = r.updateRevision
		case c.currentVersion == nil && c.observed == nil && c.revision != r.updateRevision:
			added = append(added, c)
		}
	}
	r.assignNew(added)
}

// count adds by to the counters that a child belongs to.
func (r *rollingUpdate) count(c *rollingChild, by int) {
	if c.updating {
		r.updating += by
	}
	if c.unavailableReason != "" {
		r.unavailable += by
	}
}

// mayUpdate reports whether the update of a child may start. An available child does not
// overtake one that waits.
func (r *rollingUpdate) mayUpdate(c *rollingChild) bool {
	switch {
	case c.updating:
		return r.updating-1 < c.maxUnavailable
	case c.unavailableReason != "":
		return r.updating < c.maxUnavailable
	default:
		return r.unavailable < c.maxUnavailable && !r.waiting()
	}
}

// unfinished returns which child the rolling update waits for, or "". One that is held on purpose does not count.
func (r *rollingUpdate) unfinished() string {
	if r.waiting() {
		return r.blocker.String()
	}
	for _, c := range r.children {
		if c.updating {
			return c.key.String() + " " + c.unavailableReason
		}
	}
	return ""
}

func (r *rollingUpdate) startUpdate(c *rollingChild) {
	r.count(c, -1)
	c.revision, c.updating, c.unavailableReason = r.updateRevision, true, reasonNotUpdated
	r.count(c, 1)
	r.started = append(r.started, c)
}
