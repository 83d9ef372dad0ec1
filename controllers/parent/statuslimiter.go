package parent

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// maxStatusWrites limits the writes of a parent's status in statusWindow. Every write causes
	// another pass, so that a hook whose status always differs, such as by the time of day,
	// would loop.
	maxStatusWrites = 60
	statusWindow    = time.Minute
)

// statusLimiter limits how often the status of a parent is written. It forgets windows that are over.
type statusLimiter struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	windows *generations[controller.Key, *statusWrites]
}

// statusWrites counts the writes by one revision of the scripts in a window, since the last edit of
// the parent.
type statusWrites struct {
	since         time.Time
	revision      string // of the scripts
	specHash      uint64 // a hash of the parent's content and the scripts
	writes, edits int
	reported      bool
}

func newStatusLimiter(clock clock.PassiveClock) *statusLimiter {
	return &statusLimiter{clock: clock, windows: newGenerations[controller.Key, *statusWrites](statusWindow, clock.Now())}
}

// delay returns how long the next write has to wait, or zero. first reports whether the delay
// was not reported yet. A new revision of the scripts resets the count. So does an edit of the
// parent, but only volatileAfter times in a window: a parent that is edited all the time is part
// of the loop.
func (l *statusLimiter) delay(key controller.Key, revision string, given uint64) (wait time.Duration, first bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w := l.window(key, revision, given)
	if w.writes < maxStatusWrites {
		return 0, false
	}
	first, w.reported = !w.reported, true
	return w.since.Add(statusWindow).Sub(l.clock.Now()), first
}

// countWrite counts a write that the API server has accepted.
func (l *statusLimiter) countWrite(key controller.Key, revision string, given uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.window(key, revision, given).writes++
}

func (l *statusLimiter) window(key controller.Key, revision string, given uint64) *statusWrites {
	now := l.clock.Now()
	l.windows.rotate(now)
	w, _ := l.windows.get(key)
	switch {
	case w == nil || w.revision != revision || now.Sub(w.since) >= statusWindow:
		w = &statusWrites{since: now, revision: revision, specHash: given}
		l.windows.put(key, w)
	case w.specHash != given && w.edits < volatileAfter:
		w.specHash, w.writes, w.edits, w.reported = given, 0, w.edits+1, false
	}
	return w
}

func (l *statusLimiter) forget(key controller.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.windows.remove(key)
}

// limitStatus reports whether the status has to wait, and emits an event the first time.
func (p *pass) limitStatus(specHash uint64) bool {
	wait, first := p.statusLimiter.delay(p.key, p.programs.Revision, specHash)
	if wait == 0 {
		return false
	}
	p.shortestBackoff = variant.Earlier(p.shortestBackoff, wait)
	if first {
		p.env.Metrics.countHotLoop(p.config.Definition)
		message := fmt.Sprintf("the hook's status has differed %d times within %s, each time from the one just written: "+
			"it is not written for %s: let it depend on what the hook is given, not on the time",
			maxStatusWrites, statusWindow, wait.Round(time.Second))
		if others := p.env.Registry.sharers(p.config.Definition, p.observed.Parent); len(others) > 0 {
			message += fmt.Sprintf("; %s may write it too, and %s: let only one of them return a status",
				strings.Join(others, " and "), p.config.Definition)
		}
		p.logHotLoop(message)
		p.warnOnce(variant.ReasonHotLoop, message)
	}
	return true
}
