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
	maxStatusWrites = 60
	statusWindow    = time.Minute
)

// pace keeps parents whose status never settles from being written without end.
type statusLimiter struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	windows map[controller.Key]*statusWrites
}

// window is the time since a parent's first write, and the writes in it since the last
// edit of the parent or the scripts.
type statusWrites struct {
	since         time.Time
	specHash      uint64 // a hash of the parent's content and the scripts
	writes, edits int
	reported      bool
}

func newStatusLimiter(clock clock.PassiveClock) *statusLimiter {
	return &statusLimiter{clock: clock, windows: map[controller.Key]*statusWrites{}}
}

// wait returns how long the next write has to wait, or zero. first says that nothing
// was told of it yet. An edit of the parent or of the scripts lets it go on: that the hook
// answers otherwise since is no fault of it. What is edited all the time changes by itself.
func (p *statusLimiter) delay(key controller.Key, given uint64) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.window(key, given)
	if w.writes < maxStatusWrites {
		return 0, false
	}
	first, w.reported = !w.reported, true
	return w.since.Add(statusWindow).Sub(p.clock.Now()), first
}

// wrote counts a write, which the API server has accepted.
func (p *statusLimiter) countWrite(key controller.Key, given uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.window(key, given).writes++
}

func (p *statusLimiter) window(key controller.Key, given uint64) *statusWrites {
	w, now := p.windows[key], p.clock.Now()
	switch {
	case w == nil || now.Sub(w.since) >= statusWindow:
		w = &statusWrites{since: now, specHash: given}
		p.windows[key] = w
	case w.specHash != given && w.edits < volatileAfter:
		w.specHash, w.writes, w.edits, w.reported = given, 0, w.edits+1, false
	}
	return w
}

func (p *statusLimiter) forget(key controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.windows, key)
}

// waitForPace says that the status has to wait, and tells so on the parent.
func (p *pass) limitStatus() bool {
	wait, first := p.statusLimiter.delay(p.key, p.commonInputs()[specInput])
	if wait == 0 {
		return false
	}
	p.shortestBackoff = earlier(p.shortestBackoff, wait)
	if first {
		p.env.Metrics.countHotLoop(p.config.Definition)
		message := fmt.Sprintf("the hook's status has differed %d times within %s, each time from the one just written: it is not written for %s: let it depend on what the hook is given, not on the time",
			maxStatusWrites, statusWindow, wait.Round(time.Second))
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, variant.ReasonHotLoop, message)
	}
	return true
}
