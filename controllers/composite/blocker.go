package composite

import "fmt"

// blocker is why the first child of an old revision is not updated yet.
type blocker struct {
	child *rollingChild
	// waitsFor are the children that it waits for. If there are none, it is held on purpose.
	waitsFor []*rollingChild
	// hold is why it is held on purpose.
	hold string
}

// waiting reports whether a child waits for others.
func (r *rollingUpdate) waiting() bool { return r.blocker != nil && len(r.blocker.waitsFor) > 0 }

// setHeld records that a child is held on purpose.
func (r *rollingUpdate) setHeld(c *rollingChild, reason string) {
	if r.blocker == nil {
		r.blocker = &blocker{child: c, hold: reason}
	}
}

// setWaiting records that a child waits for others. This takes precedence over a child that
// is held on purpose.
func (r *rollingUpdate) setWaiting(c *rollingChild) {
	if r.waiting() {
		return
	}
	r.blocker = &blocker{child: c}
	for _, other := range r.children {
		if other != c && (other.updating || c.unavailableReason == "" && other.unavailableReason != "") {
			r.blocker.waitsFor = append(r.blocker.waitsFor, other)
		}
	}
}

// holdReason returns why a child is held on purpose, or "".
func (c *rollingChild) holdReason() string {
	switch {
	case paused(c.strategy):
		return "the rolling update is paused"
	case c.inPartition:
		return fmt.Sprintf("partition %d holds it back", partition(c.strategy))
	default:
		return ""
	}
}

// String names the child and what it waits for.
func (b *blocker) String() string {
	if len(b.waitsFor) == 0 {
		return fmt.Sprintf("%s waits: %s", b.child.key, b.hold)
	}
	first, more := b.waitsFor[0], ""
	if n := len(b.waitsFor) - 1; n > 0 {
		more = fmt.Sprintf(", and for %d more", n)
	}
	return fmt.Sprintf("%s waits for %s, which %s%s", b.child.key, first.key, first.unavailableReason, more)
}
