package sandbox

import "time"

const (
	// timeSlice is how long a worker is kept for the calls of its trust domain while other domains wait for
	// a worker: a start for each call would take longer than most calls.
	timeSlice = 50 * time.Millisecond
	// returnGrace is how long an idle worker is kept for the next call within its time slice: a caller that
	// makes one call after another makes the next one soon.
	returnGrace = 2 * time.Millisecond
)

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
	if w.assigned || domain == sharedDomain {
		return false
	}
	w.assigned, w.domain = true, domain
	return true
}

// isForeign reports whether the worker has run scripts of another trust domain: they may have taken it over,
// and must see and change nothing of this one.
func (w *process) isForeign(domain string) bool { return w.assigned && w.domain != domain }

// isTimeSliceOver reports whether the worker may be replaced for another domain although its own has calls.
// It is false for a worker that belongs to no domain yet.
func (w *process) isTimeSliceOver(now time.Time) bool {
	return w.assigned && now.Sub(w.domainSince) >= timeSlice
}
