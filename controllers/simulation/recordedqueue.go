package simulation

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// recordedQueue is a definition's queue without workers. It records the keys that are enqueued.
type recordedQueue struct {
	mu       sync.Mutex
	enqueued map[string]bool
}

// Enqueue records a key.
func (q *recordedQueue) Enqueue(key controller.Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.enqueued[key.String()] = true
}

// EnqueueSoon records a key.
func (q *recordedQueue) EnqueueSoon(key controller.Key, _ time.Duration) { q.Enqueue(key) }

// EnqueueAfter records a key.
func (q *recordedQueue) EnqueueAfter(key controller.Key, _ time.Duration) { q.Enqueue(key) }

func (q *recordedQueue) reset() {
	q.mu.Lock()
	defer q.mu.Unlock()
	clear(q.enqueued)
}

// keys returns the recorded keys, sorted.
func (q *recordedQueue) keys() []string {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.Sorted(maps.Keys(q.enqueued))
}
