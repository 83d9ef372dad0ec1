package sandbox

import "time"

// What a worker is kept for while other domains wait depends on what a start takes: that is what keeping it may save.
const (
	// minTimeSlice is how long a worker is kept at least for the questions of its trust domain, and slicePerStart how many starts of a
	// worker it is: a start for each call would take longer than most calls, and longer than a worker is kept where there is little
	// processor time.
	minTimeSlice  = 50 * time.Millisecond
	slicePerStart = 4
	// minReturnGrace is how long an idle worker is kept at least for the next call within its time slice, and graceOfStart the part of a
	// start that it is: a caller that makes one call after another makes the next one soon.
	minReturnGrace = 2 * time.Millisecond
	graceOfStart   = 8
	// maxTimeSlice bounds the time slice, and what a worker is kept for a load that is known to follow.
	maxTimeSlice = time.Second
)

// expectation is what is known of the next question to an idle worker.
type expectation int

const (
	// expectsAny is after a call: its caller may make another one.
	expectsAny expectation = iota
	// expectsLoad is after a load that another one follows.
	expectsLoad
	// expectsNothing is after the last load of a definition: its calls come later, if any.
	expectsNothing
)

// tenure is how long workers are kept for their domain.
type tenure struct{ slice, grace time.Duration }

// tenureFor returns the tenure where a start of a worker takes so long, waiting for a processor included.
func tenureFor(start time.Duration) tenure {
	return tenure{
		slice: min(max(minTimeSlice, slicePerStart*start), maxTimeSlice),
		grace: min(max(minReturnGrace, start/graceOfStart), maxTimeSlice/graceOfStart),
	}
}

// average returns the average of what starts take, of which the last ones count most.
func average(before, took time.Duration) time.Duration {
	if before == 0 {
		return took
	}
	return (3*before + took) / 4
}

// sharedDomain is the trust domain of all programs if workers are shared. A worker does not join it.
const sharedDomain = "*"

// domainOf returns the trust domain of a source that names one.
func (c Config) domainOf(named string) string {
	if c.ShareWorkers {
		return sharedDomain
	}
	return named
}

// join makes a worker belong to the trust domain for as long as it lives. It reports whether the worker
// belonged to none before.
func (w *process) join(domain string) bool {
	if w.trust.assigned || domain == sharedDomain {
		return false
	}
	w.trust.assigned, w.trust.domain = true, domain
	return true
}

// isForeign reports whether the worker has run scripts of another trust domain: they may have taken it over,
// and must see and change nothing of this one.
func (w *process) isForeign(domain string) bool { return w.trust.assigned && w.trust.domain != domain }

// isTimeSliceOver reports whether the idle worker may be replaced for another domain although its own has questions.
// It is false for a worker that belongs to no domain yet.
func (w *process) isTimeSliceOver(now time.Time, t tenure) bool {
	return w.trust.assigned && w.expected != expectsLoad && now.Sub(w.trust.since) >= t.slice
}

// keptUntil returns until when the idle worker is kept for the next question of its domain.
func (w *process) keptUntil(t tenure) time.Time {
	switch {
	case w.expected == expectsLoad:
		return w.idleSince.Add(t.slice)
	case w.expected == expectsNothing && w.trust.assigned:
		return w.idleSince
	}
	until := w.idleSince.Add(t.grace)
	if over := w.trust.since.Add(t.slice); w.trust.assigned && over.Before(until) {
		return over
	}
	return until
}
