package controller

import "sync"

// priorityQueue orders waiting keys: keys with new events first, then resyncs and retries, each first
// in, first out. The work queue calls Touch, Push, Len and Pop with its lock held; markFresh may be
// called from any goroutine.
type priorityQueue struct {
	mu          sync.Mutex
	markedFresh map[Key]bool // Keys about to be added because of an event.

	waiting    map[Key]bool // The value is true for a key in fresh.
	fresh      []Key
	deferred   []Key
	promoted   int // Keys that were moved to fresh and are still in deferred.
	freshInRow int // Fresh keys taken since the last deferred one.
	most       int // How many keys have waited since the queue was empty.
}

// largeQueue is how many keys make a queue return its memory when it is empty.
const largeQueue = 1024

// maxFreshInRow is how many fresh keys are taken before a deferred one, so that a steady stream of
// events does not starve retries.
const maxFreshInRow = 16

func newPriorityQueue() *priorityQueue {
	return &priorityQueue{markedFresh: map[Key]bool{}, waiting: map[Key]bool{}}
}

// markFresh marks the key's next addition as caused by an event. The work queue passes keys to Push without why they were added, and only
// once they are no longer in work, which may be much later.
func (q *priorityQueue) markFresh(key Key) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.markedFresh[key] = true
}

func (q *priorityQueue) takeMark(key Key) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	marked := q.markedFresh[key]
	delete(q.markedFresh, key)
	return marked
}

// Push adds a key that is not in the queue.
func (q *priorityQueue) Push(key Key) {
	fresh := q.takeMark(key)
	q.waiting[key] = fresh
	q.most = max(q.most, len(q.waiting))
	if fresh {
		q.fresh = append(q.fresh, key)
	} else {
		q.deferred = append(q.deferred, key)
	}
}

// Touch is called for a key that is in the queue. It moves the key to the fresh ones if an event added
// it.
func (q *priorityQueue) Touch(key Key) {
	if inFresh, waits := q.waiting[key]; q.takeMark(key) && waits && !inFresh {
		q.waiting[key] = true
		q.fresh = append(q.fresh, key)
		q.promoted++ // It stays in deferred, too, where pop skips it: to find it there would take time for each key before it.
	}
}

// Len returns the number of waiting keys.
func (q *priorityQueue) Len() int { return len(q.fresh) + len(q.deferred) - q.promoted }

// Pop removes and returns the next key. The queue must not be empty.
func (q *priorityQueue) Pop() Key {
	key := q.pop()
	if len(q.waiting) > 0 {
		return key
	}
	if q.most >= largeQueue { // Neither maps nor slices shrink.
		q.waiting, q.fresh, q.deferred, q.promoted = map[Key]bool{}, nil, nil, 0
	}
	q.most = 0
	return key
}

func (q *priorityQueue) pop() Key {
	if len(q.fresh) > 0 && (q.freshInRow < maxFreshInRow || len(q.deferred) == q.promoted) {
		q.freshInRow++
		key := shift(&q.fresh)
		delete(q.waiting, key)
		return key
	}
	q.freshInRow = 0
	for {
		key := shift(&q.deferred)
		if inFresh, waits := q.waiting[key]; waits && !inFresh {
			delete(q.waiting, key)
			return key
		}
		q.promoted--
	}
}

func shift(keys *[]Key) Key {
	key := (*keys)[0]
	(*keys)[0] = Key{} // The array would keep its strings.
	*keys = (*keys)[1:]
	return key
}
