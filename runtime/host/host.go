// Package host holds the control loops that run now, each under the name of the
// definition that it was started for. They come and go while the process runs.
package host

import (
	"context"
	"sync"
)

// Host runs loops until its context ends. It is used by many goroutines at once.
type Host struct {
	ctx  context.Context
	mu   sync.Mutex
	runs map[string]*run
}

// run is one loop under way.
type run struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// New makes a host whose loops end with ctx.
func New(ctx context.Context) *Host { return &Host{ctx: ctx, runs: map[string]*run{}} }

// Start runs loop under name. A loop that ran under that name is stopped first,
// and has returned when the new one begins. The loop must return soon after its
// context ends.
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

// Stop ends the loop of that name, if there is one, and returns when it has ended.
func (h *Host) Stop(name string) {
	h.mu.Lock()
	r := h.runs[name]
	delete(h.runs, name)
	h.mu.Unlock()
	r.stop()
}

// Len is the number of loops.
func (h *Host) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.runs)
}

// Wait returns when all loops have ended, which they do after the host's context.
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
