package sandbox

import (
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
)

const (
	// minBackoff is the first delay after a worker failed to start or exited before its first call. Each
	// further failure doubles it, up to maxBackoff.
	minBackoff, maxBackoff = 100 * time.Millisecond, 5 * time.Second
	// maxStartFailures is how many failures in a row it takes until calls fail at once instead of
	// waiting.
	maxStartFailures = 3
)

// backoff delays the start of workers that keep failing.
type backoff struct {
	lastErr  error // Nil after a worker that started.
	failures int
	delay    time.Duration
	waiting  bool
}

// replenish starts workers until a spare one is idle, or each waiter will get one, or the limit is reached.
// A spare worker is of no trust domain until its first call.
func (p *Pool) replenish() {
	room := p.room()
	if p.closed || p.backoff.waiting || room <= 0 {
		return
	}
	wanted := max(max(1, p.queue.len())-p.spareWorkers(), p.missing()) - p.starting
	for range min(wanted, room) {
		p.starting++
		slot := p.freeSlot()
		p.running.Go(func() { p.spawn(slot) })
	}
}

// freeSlot returns the lowest number that no worker has. Two workers that start at once may get the
// same: the slot is only a preference.
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

// spawn starts a worker and returns when it has exited.
func (p *Pool) spawn(slot int) {
	began := time.Now()
	w, ready, err := start(p.config, slot, p.largestMemory.Load())
	if !p.onReady(w, ready, time.Since(began), err) {
		return
	}
	<-w.exited
	p.onExit(w)
}

// onReady adds a worker, of which the start took so long, to the pool. It reports whether there is one.
func (p *Pool) onReady(w *process, ready protocol.Ready, took time.Duration, err error) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting--
	if err != nil {
		p.onStartFailure(err)
		return false
	}
	p.startTakes = average(p.startTakes, took)
	p.reportConfinement(ready)
	p.processes[w] = true
	if p.closed {
		w.kill(reasonClosed)
	}
	p.dispatch()
	return true
}

// onExit removes an exited worker from the pool.
func (p *Pool) onExit(w *process) {
	reason := w.exit.reason()
	p.config.Metrics.countExit(reason)
	if w.exit.isUnexpected() || w.exit.dropped > 0 {
		p.config.Log.Info("script worker ended", "reason", reason, "questions", w.questions.Load(), "status", w.exit.status,
			"stderr", w.exit.summary(), "stderrBytesDropped", w.exit.dropped)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.usage.close()
	delete(p.processes, w)
	if w.exit.isUnexpected() && w.questions.Load() == 0 {
		p.onStartFailure(fmt.Errorf("ended before its first call: %s", w.exit.summary()))
		return
	}
	p.backoff = backoff{waiting: p.backoff.waiting}
	p.dispatch()
}

// onStartFailure records that a worker did not start, and schedules the next attempt.
func (p *Pool) onStartFailure(err error) {
	if p.closed {
		return
	}
	b := &p.backoff
	b.lastErr = fmt.Errorf("script workers do not start: %w", err)
	b.failures++
	p.config.Log.Error(err, "script worker did not start")
	b.delay = min(max(minBackoff, 2*b.delay), maxBackoff)
	if p.unavailable() != nil {
		for _, w := range p.queue.drain() {
			w.result <- grant{err: b.lastErr}
		}
	}
	if !b.waiting {
		b.waiting = true
		time.AfterFunc(b.delay, p.retry)
	}
}

func (p *Pool) retry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.backoff.waiting = false
	p.dispatch()
}

// reportConfinement logs which measures are in force, once, and sets their metrics. They are the same
// for all workers.
func (p *Pool) reportConfinement(ready protocol.Ready) {
	p.config.Metrics.setConfinement(ready.Report)
	if p.confinementLogged {
		return
	}
	p.confinementLogged = true
	message, missing, partial := describeConfinement(ready.Report)
	tell := p.config.Log.Info
	if len(missing)+len(partial) > 0 {
		tell = func(message string, details ...any) { verbosity.Warn(p.config.Log, message, details...) }
	}
	tell(message, "measures", len(ready.Report)-len(missing)-len(partial), "missing", missing, "partial", partial)
}

// describeConfinement returns the log message for a report, the measures that are not in force and those
// of which only a part is, with the reason of each.
func describeConfinement(report map[string]string) (message string, missing, partial map[string]string) {
	missing, partial = map[string]string{}, map[string]string{}
	for measure, reason := range report {
		switch state, why := confine.StateOf(reason); state {
		case confine.None:
			missing[measure] = why
		case confine.Partial:
			partial[measure] = why
		}
	}
	switch {
	case len(missing) == len(report):
		message = "script workers are processes of their own with limits on time, but nothing else confines them on this system: run no scripts here that you don't trust"
	case len(missing)+len(partial) > 0:
		message = "script workers are confined, but not by all measures"
	default:
		message = "script workers are confined"
	}
	return message, missing, partial
}
