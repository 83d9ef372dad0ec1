package sandbox

import (
	"context"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

const (
	// maxQuestions is how many calls and loads a worker answers before it is replaced.
	maxQuestions = 1000
	// maxGrowth is the part of its budget by which a worker's own memory may grow before it is replaced.
	maxGrowth = 0.75
)

// acquire returns a worker for a program. Waiting owners take turns; an owner with fewer workers goes
// first. A load waits until ctx ends, as nothing can be done without it. The worker is returned to the pool with release.
func (p *Pool) acquire(ctx context.Context, f flow, prog *program, kind uint64, preferred int) (*process, error) {
	began := time.Now()
	w := &waiter{flow: f, program: prog, preferred: preferred, result: make(chan grant, 1)}
	p.mu.Lock()
	if err := p.unavailable(); err != nil {
		p.mu.Unlock()
		return nil, err
	}
	p.queue.push(w)
	p.dispatch()
	p.mu.Unlock()
	defer func() { p.config.Metrics.observeWait(time.Since(began)) }()
	long := time.NewTimer(p.config.MaxWait)
	defer long.Stop()
	for {
		select {
		case g := <-w.result:
			return g.process, g.err
		case <-ctx.Done():
			return nil, p.abandon(w, ctx.Err())
		case <-long.C:
			p.logBusy()
			if kind == protocol.KindCall {
				return nil, p.abandon(w, context.DeadlineExceeded)
			}
		}
	}
}

// unavailable returns an error if waiting for a worker is useless, else nil.
func (p *Pool) unavailable() error {
	switch {
	case p.closed:
		return errClosed
	case p.backoff.failures >= maxStartFailures && len(p.processes) == 0 && p.starting == 0:
		return p.backoff.lastErr
	default:
		return nil
	}
}

// abandon removes a waiter from the queue. If it has been given a worker meanwhile, the worker is
// released.
func (p *Pool) abandon(w *waiter, err error) error {
	p.mu.Lock()
	waiting := p.queue.remove(w)
	p.mu.Unlock()
	if waiting {
		return err
	}
	if g := <-w.result; g.process != nil {
		p.release(g.process, w.flow)
	}
	return err
}

// release makes the worker idle again, or retires it.
func (p *Pool) release(w *process, f flow) {
	w.memory = w.usage.read()
	if reason := w.retireReason(); reason != "" {
		w.kill(reason)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.release(f)
	if _, known := p.processes[w]; known && w.pendingKill() == "" {
		p.processes[w] = true
		w.idleSince = time.Now()
		p.endIdleLater()
	}
	p.dispatch()
}

// dispatch gives idle workers to waiters and starts more workers if needed.
func (p *Pool) dispatch() {
	for p.assign() {
	}
	p.replenish()
	p.config.Metrics.updateWorkers(p)
}

// assign gives one idle worker to a waiter, or kills one that no waiter can use to replace it. It reports
// whether it did either.
func (p *Pool) assign() bool {
	c := p.choose(time.Now())
	if c.wait > 0 {
		p.dispatchAfter(c.wait)
	}
	if c.worker == nil {
		return false
	}
	p.processes[c.worker] = false
	if c.waiter == nil {
		c.worker.kill(c.reason) // It counts until it has exited: its successor gets its memory.
		return true
	}
	p.queue.take(c.waiter)
	if c.worker.join(c.waiter.program.domain) {
		c.worker.trust.since = time.Now()
	}
	c.worker.expected = c.waiter.program.next
	c.waiter.result <- grant{process: c.worker}
	return true
}

// dispatchAfter calls dispatch after that time, unless it is called sooner anyway.
func (p *Pool) dispatchAfter(wait time.Duration) {
	at := time.Now().Add(wait)
	if !p.dispatchAt.IsZero() && !p.dispatchAt.After(at) {
		return
	}
	p.dispatchAt = at
	time.AfterFunc(wait, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.dispatchAt.Equal(at) {
			p.dispatchAt = time.Time{}
		}
		p.dispatch()
	})
}

// choice is what to do with an idle worker: give it to waiter, or replace it for that reason if waiter is
// nil. wait is how long to do nothing if worker is nil.
type choice struct {
	worker *process
	waiter *waiter
	reason string
	wait   time.Duration
}

// choose returns what to do next. It returns the zero choice if there is nothing to do.
func (p *Pool) choose(now time.Time) choice {
	if p.idleWorkers() == 0 {
		return choice{}
	}
	// missing counts the waiters so far that can use no idle worker, and coming the workers that will come
	// for them.
	missing, coming, kept := 0, 0, tenureFor(p.startTakes)
	var next *waiter
	for w := range p.queue.eligible(p.config.Workers) {
		best, score := p.bestIdle(w)
		switch {
		case score == unusable:
			if missing++; missing == 1 {
				coming = p.coming()
			}
			if missing == coming+1 {
				next = w
			}
		case missing > coming && best.isTimeSliceOver(now, kept):
			// It is replaced for a waiter before this one.
		default:
			return choice{worker: best, waiter: w}
		}
	}
	if next == nil {
		return choice{}
	}
	return p.replacement(next, now)
}

// replacement returns which worker to replace for a waiter that can use no idle one: of those that are kept no longer, the one that has
// been idle for longest.
func (p *Pool) replacement(next *waiter, now time.Time) choice {
	kept := tenureFor(p.startTakes)
	var oldest *process
	var soonest time.Time
	for w, idle := range p.processes {
		if !idle {
			continue
		}
		if until := w.keptUntil(kept); until.After(now) {
			if soonest.IsZero() || until.Before(soonest) {
				soonest = until
			}
		} else if oldest == nil || w.idleSince.Before(oldest.idleSince) {
			oldest = w
		}
	}
	if oldest == nil {
		return choice{wait: soonest.Sub(now)}
	}
	if oldest.isForeign(next.program.domain) {
		return choice{worker: oldest, reason: reasonDomain}
	}
	return choice{worker: oldest, reason: reasonResident}
}

// missing returns how many waiters may have a worker now, but can use no idle one.
func (p *Pool) missing() int {
	n := 0
	for w := range p.queue.eligible(p.config.Workers) {
		if _, score := p.bestIdle(w); score == unusable {
			n++
		}
	}
	return n
}

// coming returns how many workers will come even if none is replaced: those that are starting, and those
// for which there is room or will be once workers that were killed have exited.
func (p *Pool) coming() int {
	ending := 0
	for w, idle := range p.processes {
		if !idle && w.pendingKill() != "" {
			ending++
		}
	}
	return p.starting + ending + p.room()
}

// room returns how many more workers may be started now.
func (p *Pool) room() int { return p.config.Workers + 1 - len(p.processes) - p.starting }

// bestIdle returns the idle worker with the highest score, and the score.
func (p *Pool) bestIdle(w *waiter) (*process, int) {
	var best *process
	score := unusable
	for process, idle := range p.processes {
		if !idle {
			continue
		}
		if s := process.score(w.program, w.preferred); best == nil || s > score {
			best, score = process, s
		}
	}
	return best, score
}

func (p *Pool) idleWorkers() int {
	n := 0
	for _, idle := range p.processes {
		if idle {
			n++
		}
	}
	return n
}

// spareWorkers returns how many workers are idle that any program may use.
func (p *Pool) spareWorkers() int {
	n := 0
	for w, idle := range p.processes {
		if idle && !w.trust.assigned {
			n++
		}
	}
	return n
}
