package sandbox

import (
	"context"
	"time"
)

const (
	// maxQuestions is how many calls and loads a worker answers before it is replaced.
	maxQuestions = 1000
	// maxGrowth is the part of its budget by which a worker's own memory may grow before it is replaced.
	maxGrowth = 0.75
)

// acquire returns a worker. Waiting owners take turns; an owner with fewer workers goes first. The
// worker is returned to the pool with release.
func (p *Pool) acquire(ctx context.Context, owner string, score func(*process) int) (*process, error) {
	began := time.Now()
	w := &waiter{owner: owner, score: score, result: make(chan grant, 1)}
	p.mu.Lock()
	if err := p.unavailable(); err != nil {
		p.mu.Unlock()
		return nil, err
	}
	p.queue.push(w)
	p.dispatch()
	p.mu.Unlock()
	defer func() { p.config.Metrics.observeWait(time.Since(began)) }()
	select {
	case g := <-w.result:
		return g.process, g.err
	case <-ctx.Done():
		return nil, p.abandon(w, ctx.Err())
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
		p.release(g.process, w.owner)
	}
	return err
}

// release makes the worker idle again, or retires it.
func (p *Pool) release(w *process, owner string) {
	w.memory = w.usage.read()
	if reason := w.retireReason(); reason != "" {
		w.kill(reason)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.release(owner)
	if _, known := p.processes[w]; known && w.pendingKill() == "" {
		p.processes[w] = true
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

// assign gives one idle worker to the next waiter. It reports whether it used up a worker.
func (p *Pool) assign() bool {
	if p.idleWorkers() == 0 {
		return false
	}
	w := p.queue.next(p.config.Workers)
	if w == nil {
		return false
	}
	best, score := p.bestIdle(w)
	if score == unusable {
		// The process counts until it has exited: its successor gets its memory.
		p.processes[best] = false
		best.kill(reasonResident)
		p.queue.requeue(w)
		return true
	}
	p.processes[best] = false
	w.result <- grant{process: best}
	return true
}

// bestIdle returns the idle worker with the highest score. At least one must be idle.
func (p *Pool) bestIdle(w *waiter) (*process, int) {
	var best *process
	score := unusable
	for process, idle := range p.processes {
		if !idle {
			continue
		}
		if s := w.score(process); best == nil || s > score {
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
