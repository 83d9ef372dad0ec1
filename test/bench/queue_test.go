package bench

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// queue hands out the enqueued keys.
type queue chan controller.Key

func newQueue() queue { return make(queue, 100_000) }

// Enqueue implements parent.Queue.
func (q queue) Enqueue(key controller.Key) { q <- key }

// EnqueueSoon implements parent.Queue.
func (q queue) EnqueueSoon(key controller.Key, _ time.Duration) { q <- key }

// EnqueueAfter implements parent.Queue.
func (q queue) EnqueueAfter(key controller.Key, _ time.Duration) { q <- key }

// drain takes keys until none comes for a while, and gives their number.
func (q queue) drain() int {
	for count := 0; ; count++ {
		select {
		case <-q:
		case <-time.After(200 * time.Millisecond):
			return count
		}
	}
}

// take waits for a number of keys.
func (q queue) take(tb testing.TB, number int) []controller.Key {
	keys := make([]controller.Key, number)
	for i := range keys {
		select {
		case keys[i] = <-q:
		case <-time.After(10 * time.Second):
			tb.Fatalf("%d keys were enqueued, want %d", i, number)
		}
	}
	return keys
}
