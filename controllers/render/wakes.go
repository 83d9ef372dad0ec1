package render

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// wakes is the queue of a definition that nobody works on: it notes who would be
// looked at.
type wakes struct {
	mu      sync.Mutex
	noted   map[string]bool
	passed  map[string]int // calls for phantoms, by name
	changed chan struct{}  // closed at the next call
}

func newWakes() *wakes {
	return &wakes{noted: map[string]bool{}, passed: map[string]int{}, changed: make(chan struct{})}
}

// Enqueue notes a key.
func (w *wakes) Enqueue(key controller.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if isPhantomName(key.Name) {
		w.passed[key.String()]++
	} else {
		w.noted[key.String()] = true
	}
	close(w.changed)
	w.changed = make(chan struct{})
}

// EnqueueSoon notes a key.
func (w *wakes) EnqueueSoon(key controller.Key, _ time.Duration) { w.Enqueue(key) }

// EnqueueAfter notes a key.
func (w *wakes) EnqueueAfter(key controller.Key, _ time.Duration) { w.Enqueue(key) }

func (w *wakes) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.noted)
}

func (w *wakes) keys() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.noted))
}

// passedBy says how often a phantom has been enqueued.
func (w *wakes) passedBy(key controller.Key) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.passed[key.String()]
}

// awaitPassed waits until a phantom has been enqueued that often.
func (w *wakes) awaitPassed(ctx context.Context, key controller.Key, times int) error {
	return w.await(ctx, func() bool { return w.passed[key.String()] >= times })
}

// awaitAll waits until all keys have been enqueued, or ctx has ended.
func (w *wakes) awaitAll(ctx context.Context, keys []string) {
	_ = w.await(ctx, func() bool { // Whoever asked sees what is missing.
		return !slices.ContainsFunc(keys, func(key string) bool { return !w.noted[key] })
	})
}

func (w *wakes) await(ctx context.Context, done func() bool) error {
	for {
		w.mu.Lock()
		ok, changed := done(), w.changed
		w.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
