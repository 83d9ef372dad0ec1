package sandbox

import "time"

const (
	// domainTime is how long a worker is kept for the waiters of its trust domain while others wait for
	// one: a start for each call would take longer than most calls.
	domainTime = 50 * time.Millisecond
	// returnTime is how long it then waits for the next one. Who makes one call after another has it soon.
	returnTime = 2 * time.Millisecond
)

// sharedDomain is the trust domain of all programs if workers are shared. A worker does not join it.
const sharedDomain = "*"

// domainOf returns the trust domain of a source.
func (c Config) domainOf(named string) string {
	if c.ShareWorkers {
		return sharedDomain
	}
	return named
}

// join makes a worker one of the trust domain, for as long as it lives. It reports whether the worker was
// of none before.
func (w *process) join(domain string) bool {
	if w.assigned || domain == sharedDomain {
		return false
	}
	w.assigned, w.domain = true, domain
	return true
}

// isForeign reports whether the worker has been in the hands of those who write the scripts of another
// trust domain: what they may have made of it must not reach this one.
func (w *process) isForeign(domain string) bool { return w.assigned && w.domain != domain }

// hasHadItsTime reports whether the worker is to make room for another domain. One of none has no time.
func (w *process) hasHadItsTime(now time.Time) bool {
	return w.assigned && now.Sub(w.domainSince) >= domainTime
}
