package sandbox

import (
	"context"
	"time"
)

const (
	// maxQuestions is how many calls and loads a worker answers before it is replaced.
	maxQuestions = 1000
	// fullAt is the part of its budget from which a worker that keeps so much is replaced.
	fullAt = 0.75
)

// take gives a worker to whoever waits longest among those with the fewest. It is
// given back with giveBack.
func (p *Pool) take(ctx context.Context, owner string, fit func(*process) int) (*process, error) {
	began := time.Now()
	w := &waiter{owner: owner, fit: fit, got: make(chan granted, 1)}
	p.mu.Lock()
	if err := p.refusal(); err != nil {
		p.mu.Unlock()
		return nil, err
	}
	p.queue.push(w)
	p.settle()
	p.mu.Unlock()
	defer func() { p.config.Metrics.waited(time.Since(began)) }()
	select {
	case g := <-w.got:
		return g.process, g.err
	case <-ctx.Done():
		return nil, p.giveUp(w, ctx.Err())
	}
}

// refusal is why there is no use in waiting.
func (p *Pool) refusal() error {
	switch {
	case p.closed:
		return errClosed
	case p.backoff.failures >= hopeless && len(p.processes) == 0 && p.starting == 0:
		return p.backoff.last
	default:
		return nil
	}
}

// giveUp takes a waiter out. One that was given a worker meanwhile gives it back.
func (p *Pool) giveUp(w *waiter, err error) error {
	p.mu.Lock()
	waiting := p.queue.remove(w)
	p.mu.Unlock()
	if waiting {
		return err
	}
	if g := <-w.got; g.process != nil {
		p.giveBack(g.process, w.owner)
	}
	return err
}

// giveBack makes the worker the next one's, or replaces it.
func (p *Pool) giveBack(w *process, owner string) {
	w.size = w.usage.read()
	if why := w.worn(); why != "" {
		w.kill(why)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.done(owner)
	if _, known := p.processes[w]; known && w.doomed() == "" {
		p.processes[w] = true
	}
	p.settle()
}

// settle gives idle workers to those whose turn it is, and starts more if need be.
func (p *Pool) settle() {
	for p.assign() {
	}
	p.replenish()
	p.config.Metrics.seen(p)
}

// assign gives one idle worker away, and says whether it did.
func (p *Pool) assign() bool {
	if p.idle() == 0 {
		return false
	}
	w := p.queue.next(p.config.Workers)
	if w == nil {
		return false
	}
	best, score := p.best(w)
	if score == unfit {
		// It counts until it has ended: its successor gets its memory.
		p.processes[best] = false
		best.kill(becauseLarge)
		p.queue.putBack(w)
		return true
	}
	p.processes[best] = false
	w.got <- granted{process: best}
	return true
}

// best is the idle worker that fits best. There is one.
func (p *Pool) best(w *waiter) (*process, int) {
	var best *process
	score := unfit
	for process, idle := range p.processes {
		if !idle {
			continue
		}
		if s := w.fit(process); best == nil || s > score {
			best, score = process, s
		}
	}
	return best, score
}

func (p *Pool) idle() int {
	n := 0
	for _, idle := range p.processes {
		if idle {
			n++
		}
	}
	return n
}
