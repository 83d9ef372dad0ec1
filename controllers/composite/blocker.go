package composite

import "fmt"

// wait is why a member still keeps an old revision.
type blocker struct {
	child *rollingChild
	// others are the members that it waits for. Without any it is held back on purpose.
	waitsFor []*rollingChild
	reason   string
}

// waiting says whether a member waits for others.
func (r *rollout) waiting() bool { return r.blocker != nil && len(r.blocker.waitsFor) > 0 }

// holdBack notes that a member is to keep its revision.
func (r *rollout) setHeld(m *rollingChild, reason string) {
	if r.blocker == nil {
		r.blocker = &blocker{child: m, reason: reason}
	}
}

// queue notes that a member waits for others, which is told rather than that one
// is held back.
func (r *rollout) setWaiting(m *rollingChild) {
	if r.waiting() {
		return
	}
	r.blocker = &blocker{child: m}
	for _, other := range r.children {
		if other != m && (other.updating || m.unavailableReason == "" && other.unavailableReason != "") {
			r.blocker.waitsFor = append(r.blocker.waitsFor, other)
		}
	}
}

// heldBack says why a member is not to be moved though it could be.
func holdReason(m *rollingChild) string {
	switch {
	case paused(m.strategy):
		return "the rolling update is paused"
	case m.inPartition:
		return fmt.Sprintf("partition %d holds it back", partition(m.strategy))
	default:
		return ""
	}
}

// String names the child and what it waits for.
func (w *blocker) String() string {
	if len(w.waitsFor) == 0 {
		return fmt.Sprintf("%s waits: %s", w.child.key, w.reason)
	}
	first, more := w.waitsFor[0], ""
	if n := len(w.waitsFor) - 1; n > 0 {
		more = fmt.Sprintf(", and for %d more", n)
	}
	return fmt.Sprintf("%s waits for %s, which %s%s", w.child.key, first.key, first.unavailableReason, more)
}
