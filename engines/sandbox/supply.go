package sandbox

import (
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

const (
	// firstBackoff is how long to wait after a worker did not start, or died before its
	// first call. It doubles each time, up to longestBackoff.
	firstBackoff, longestBackoff = 100 * time.Millisecond, 5 * time.Second
	// hopeless is how often that has to happen in a row until nobody waits any more.
	hopeless = 3
)

// backoff slows the starting of workers down that don't live.
type backoff struct {
	last     error // Why the last one did not live; nil after one that did.
	failures int
	pause    time.Duration
	waiting  bool
}

// replenish starts workers until one is idle, or one for each that waits, or there are enough.
func (p *Pool) replenish() {
	if p.closed || p.backoff.waiting {
		return
	}
	wanted := max(1, p.queue.len()) - p.idle() - p.starting
	room := p.config.Workers + 1 - len(p.processes) - p.starting
	for range min(wanted, room) {
		p.starting++
		slot := p.freeSlot()
		p.ending.Go(func() { p.raise(slot) })
	}
}

// freeSlot is the lowest number that no worker has. Two that start at once may get
// the same: it only decides which is preferred.
func (p *Pool) freeSlot() int {
	taken := map[int]bool{}
	for w := range p.processes {
		taken[w.slot] = true
	}
	slot := 0
	for taken[slot] {
		slot++
	}
	return slot
}

// raise starts a worker and stays until it ends.
func (p *Pool) raise(slot int) {
	w, ready, err := start(p.config, slot)
	if !p.welcome(w, ready, err) {
		return
	}
	<-w.gone
	p.bury(w)
}

// welcome makes a worker that has started the pool's.
func (p *Pool) welcome(w *process, ready protocol.Ready, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if err != nil {
		p.fail(err)
		return false
	}
	p.tell(ready)
	p.processes[w] = true
	if p.closed {
		w.kill(becauseClosed)
	}
	p.settle()
	return true
}

// bury takes a worker that has ended out.
func (p *Pool) bury(w *process) {
	reason := w.death.reason()
	p.config.Metrics.died(reason)
	if w.death.by == "" {
		p.config.Log.Info("script worker ended", "reason", reason, "questions", w.number.Load(), "status", w.death.status, "stderr", w.death.brief())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.usage.close()
	delete(p.processes, w)
	if w.death.by == "" && w.number.Load() == 0 {
		p.fail(fmt.Errorf("ended before its first call: %s", w.death.brief()))
		return
	}
	p.backoff = backoff{waiting: p.backoff.waiting}
	p.settle()
}

// fail notes that a worker did not live.
func (p *Pool) fail(err error) {
	if p.closed {
		return
	}
	b := &p.backoff
	b.last = fmt.Errorf("script workers do not start: %w", err)
	b.failures++
	p.config.Log.Error(err, "script worker did not start")
	b.pause = min(max(firstBackoff, 2*b.pause), longestBackoff)
	if p.refusal() != nil {
		for _, w := range p.queue.drain() {
			w.got <- granted{err: b.last}
		}
	}
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(b.pause, p.retry)
	}
}

func (p *Pool) retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backoff.waiting = false
	p.settle()
}

// tell logs and counts what is in force, which is the same for all workers.
func (p *Pool) tell(ready protocol.Ready) {
	p.config.Metrics.confined(ready.Report)
	if p.told {
		return
	}
	p.told = true
	message, missing := confinement(ready.Report)
	p.config.Log.Info(message, "measures", len(ready.Report)-len(missing), "missing", missing)
}

// confinement is what to say about a report, and which measures are not in force, with
// the reason of each.
func confinement(report map[string]string) (message string, missing map[string]string) {
	missing = map[string]string{}
	for measure, why := range report {
		if why != "" {
			missing[measure] = why
		}
	}
	switch len(missing) {
	case 0:
		return "script workers are confined", missing
	case len(report):
		return "warning: script workers are processes of their own with limits on time, but nothing else confines them on this system: run no scripts here that you don't trust", missing
	default:
		return "script workers are confined, but not by all measures", missing
	}
}
