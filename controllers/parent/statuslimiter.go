package parent

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// statusWrites is how often in statusWindow the status of one parent is
	// written. Every write leads to another pass, so that a hook whose status
	// differs each time, such as by the time of day, would never rest.
	statusWrites = 60
	statusWindow = time.Minute
)

// pace keeps parents whose status never settles from being written without end.
type statusLimiter struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	windows map[controller.Key]*window
}

// window is the time since a parent's first write with one revision of the scripts, and
// the writes in it since the last edit of the parent.
type window struct {
	since         time.Time
	revision      string
	given         uint64 // a hash of the parent's content and the scripts
	writes, edits int
	told          bool
}

func newStatusLimiter(clock clock.PassiveClock) *statusLimiter {
	return &statusLimiter{clock: clock, windows: map[controller.Key]*window{}}
}

// wait returns how long the next write has to wait, or zero. first says that nothing
// was told of it yet. An edit of the scripts or of the parent lets it go on: that the hook
// answers otherwise since is no fault of it. A parent that is edited all the time changes by
// itself; scripts do not.
func (p *statusLimiter) wait(key controller.Key, revision string, given uint64) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.window(key, revision, given)
	if w.writes < statusWrites {
		return 0, false
	}
	first, w.told = !w.told, true
	return w.since.Add(statusWindow).Sub(p.clock.Now()), first
}

// wrote counts a write, which the API server has accepted.
func (p *statusLimiter) wrote(key controller.Key, revision string, given uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window(key, revision, given).writes++
}

func (p *statusLimiter) window(key controller.Key, revision string, given uint64) *window {
	w, now := p.windows[key], p.clock.Now()
	switch {
	case w == nil || w.revision != revision || now.Sub(w.since) >= statusWindow:
		w = &window{since: now, revision: revision, given: given}
		p.windows[key] = w
	case w.given != given && w.edits < fickleAfter:
		w.given, w.writes, w.edits, w.told = given, 0, w.edits+1, false
	}
	return w
}

func (p *statusLimiter) forget(key controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.windows, key)
}

// limitStatus says that the status has to wait, and tells so on the parent.
func (p *pass) limitStatus() bool {
	wait, first := p.statusLimiter.wait(p.key, p.programs.Revision, p.commonInputs()[given])
	if wait == 0 {
		return false
	}
	p.rest = earlier(p.rest, wait)
	if first {
		p.env.Metrics.hotLoop(p.config.Definition)
		message := fmt.Sprintf("the hook's status has differed %d times within %s, each time from the one just written: it is not written for %s: let it depend on what the hook is given, not on the time",
			statusWrites, statusWindow, wait.Round(time.Second))
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, variant.ReasonHotLoop, message)
	}
	return true
}
