package parent

import (
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

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
type pace struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	windows map[controller.Key]*window
}

// window is the time since a parent's first write by one revision of the scripts,
// and the writes in it.
type window struct {
	revision string
	since    time.Time
	writes   int
}

func newPace(clock clock.PassiveClock) *pace {
	return &pace{clock: clock, windows: map[controller.Key]*window{}}
}

// wait gives how long the next write has to wait, or zero. first says that it is
// the first one that does in its window. An edit of the scripts begins a new one: that
// they answer otherwise since is no fault of theirs.
func (p *pace) wait(key controller.Key, revision string) (wait time.Duration, first bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.windows[key]
	now := p.clock.Now()
	if w == nil || w.revision != revision || now.Sub(w.since) >= statusWindow {
		w = &window{revision: revision, since: now}
		p.windows[key] = w
	}
	w.writes++
	if w.writes <= statusWrites {
		return 0, false
	}
	return w.since.Add(statusWindow).Sub(now), w.writes == statusWrites+1
}

func (p *pace) forget(key controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.windows, key)
}

// waitForPace says that the status has to wait, and tells so on the parent.
func (p *pass) waitForPace() bool {
	wait, first := p.pace.wait(p.key, p.programs.Revision)
	if wait == 0 {
		return false
	}
	p.rest = sooner(p.rest, wait)
	if first {
		p.env.Metrics.hotLoop(p.config.Definition)
		message := fmt.Sprintf("the hook's status has differed %d times within %s, each time from the one just written: it is not written for %s: let it depend on what the hook is given, not on the time",
			statusWrites, statusWindow, wait.Round(time.Second))
		p.env.Events.Event(p.parent, corev1.EventTypeWarning, ReasonHotLoop, message)
	}
	return true
}
