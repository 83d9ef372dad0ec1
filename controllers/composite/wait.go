package composite

import "fmt"

// wait is why a member still keeps an old revision.
type wait struct {
	member *child
	// others are the members that it waits for. Without any it is held back on purpose.
	others []*child
	reason string
}

// waiting says whether a member waits for others.
func (r *rollout) waiting() bool { return r.wait != nil && len(r.wait.others) > 0 }

// holdBack notes that a member is to keep its revision.
func (r *rollout) holdBack(m *child, reason string) {
	if r.wait == nil {
		r.wait = &wait{member: m, reason: reason}
	}
}

// queue notes that a member waits for others, which is told rather than that one
// is held back.
func (r *rollout) queue(m *child) {
	if r.waiting() {
		return
	}
	r.wait = &wait{member: m}
	for _, other := range r.members {
		if other != m && (other.middle || m.reason == "" && other.reason != "") {
			r.wait.others = append(r.wait.others, other)
		}
	}
}

// heldBack says why a member is not to be moved though it could be.
func heldBack(m *child) string {
	switch {
	case paused(m.strategy):
		return "the rolling update is paused"
	case m.last:
		return fmt.Sprintf("partition %d holds it back", partition(m.strategy))
	default:
		return ""
	}
}

// String names the child and what it waits for.
func (w *wait) String() string {
	if len(w.others) == 0 {
		return fmt.Sprintf("%s waits: %s", w.member.key, w.reason)
	}
	first, more := w.others[0], ""
	if n := len(w.others) - 1; n > 0 {
		more = fmt.Sprintf(", and for %d more", n)
	}
	return fmt.Sprintf("%s waits for %s, which %s%s", w.member.key, first.key, first.reason, more)
}
