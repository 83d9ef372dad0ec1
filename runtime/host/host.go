// Package host runs the control loops of the process, each under the name of its definition. Loops can
// be started and stopped at any time.
package host

import (
	"context"
	"sync"
)

// Host runs loops until its context ends. It is safe for concurrent use.
type Host struct {
	ctx  context.Context
	mu   sync.Mutex
	runs map[string]*run
}

// run is one running loop.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New returns a Host whose loops end with ctx.
func New(ctx context.Context) *Host { return &Host{ctx: ctx, runs: map[string]*run{}} }

// Start runs loop under name. It first stops the loop that has this name and waits for it to return. The
// loop must return soon after its context ends.
func (h *Host) Start(name string, loop func(context.Context)) {
	ctx, cancel := context.WithCancel(h.ctx)
	next := &run{cancel: cancel, done: make(chan struct{})}
	h.mu.Lock()
	previous := h.runs[name]
	h.runs[name] = next
	h.mu.Unlock()
	previous.stop()
	go func() {
		defer close(next.done)
		loop(ctx)
	}()
}

// Stop stops the loop with that name, if there is one, and waits for it to return.
func (h *Host) Stop(name string) {
	h.mu.Lock()
	r := h.runs[name]
	delete(h.runs, name)
	h.mu.Unlock()
	r.stop()
}

// Wait returns when all loops have returned. They do after the host's context ends.
func (h *Host) Wait() {
	h.mu.Lock()
	runs := make([]*run, 0, len(h.runs))
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	h.mu.Unlock()
	for _, r := range runs {
		<-r.done
	}
}

func (r *run) stop() {
	if r != nil {
		r.cancel()
		<-r.done
	}
}
