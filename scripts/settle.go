package scripts

import "time"

// settling keeps a text and a spec that do not go together from serving, and from being reported, for a moment in which the other one may
// change too. Its fields are used only by the goroutine of run, except editedAt.
type settling struct {
	// content is what the sources held last, once known is set. It is zero if they held no complete tree.
	content fingerprint
	known   bool
	// editedAt is when the content was first seen to be another one, or zero. It is guarded by the tree's mu.
	editedAt time.Time
	openedAt time.Time
	// badSince is when a content that would do harm, or does not load, was first seen, or zero, and reported is set if that waits no more.
	badSince time.Time
	reported bool
	// again is when to look at the sources again, or zero.
	again time.Time
}

// Suspend keeps the revision that serves from being replaced, whatever the sources hold, because a newer spec waits for them: a text is
// loaded for the newest spec only.
func (t *Tree) Suspend(suspended bool) {
	t.mu.Lock()
	changed := t.suspended != suspended
	t.suspended = suspended
	t.mu.Unlock()
	if changed {
		t.trigger()
	}
}

func (t *Tree) isSuspended() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.suspended
}

// EditedSince reports whether the text has changed since a time.
func (t *Tree) EditedSince(since time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.settling.editedAt.After(since)
}

// SourcesMatchCurrent reports whether the sources contain the revision that Current returns. They do not while they contain one that does
// not load, is held or has not been looked at yet.
func (t *Tree) SourcesMatchCurrent() bool {
	current := t.Current()
	return current != nil && t.State().Desired == current.ID && t.holds(current.content)
}

// observe notes what the sources hold: a zero content if that is no complete tree.
func (t *Tree) observe(content fingerprint) {
	s := &t.settling
	switch {
	case !s.known: // What served before a restart goes on at once.
		s.known, s.reported = true, t.spec.Serving != ""
	case s.content == content:
		return
	default:
		t.mu.Lock()
		s.editedAt = time.Now()
		t.mu.Unlock()
		if s.reported { // Otherwise edits without a pause would never be reported.
			s.badSince, s.reported = time.Time{}, false
		}
	}
	s.content = content
}

// isUnsettled reports whether what the sources contain is neither to serve nor to be reported yet: if it is bad, because the spec may be
// about to change, and if the spec has just changed, because the text may be about to. run looks again.
func (t *Tree) isUnsettled(bad bool) bool {
	s := &t.settling
	now := time.Now()
	s.again = time.Time{}
	if t.spec.AwaitEdit && s.editedAt.IsZero() {
		s.again = s.openedAt.Add(t.spec.SettleTime)
	}
	switch {
	case !bad:
		s.badSince, s.reported = time.Time{}, false
	case s.badSince.IsZero():
		s.badSince = now
	}
	if bad && !s.reported {
		if until := s.badSince.Add(t.spec.SettleTime); until.After(s.again) {
			s.again = until
		}
	}
	if now.Before(s.again) {
		return true
	}
	s.again, s.reported = time.Time{}, bad
	return false
}

// lookAgain returns a channel that receives when it is time to look at the sources and at the archive, or to preview, again, or nil.
func (t *Tree) lookAgain() <-chan time.Time {
	restoring, pending := t.restored.again, &t.previews.pending
	if soon := time.Now().Add(restoreRetry); !restoring.IsZero() && restoring.Before(soon) { // It was not asked this time.
		restoring = soon
	}
	if pending.isDue() { // The sources hold something else.
		pending.dueAt = time.Now().Add(PreviewInterval)
	}
	again := earliest(t.settling.again, restoring, pending.dueAt)
	t.settling.again = time.Time{}
	if again.IsZero() {
		return nil
	}
	return time.After(time.Until(again))
}

// earliest returns the earliest of some times, of which zero is none.
func earliest(times ...time.Time) (first time.Time) {
	for _, at := range times {
		if first.IsZero() || !at.IsZero() && at.Before(first) {
			first = at
		}
	}
	return first
}
