package controller

import "sync"

// lanes is the order of waiting keys: those with a fresh event first, then
// resyncs and retries, each in the order of arrival. The work queue calls
// Touch, Push, Len and Pop under its own lock; markFresh comes from anywhere.
type lanes struct {
	mu     sync.Mutex
	marked map[Key]bool // keys about to be added because of an event

	waiting map[Key]bool // true if the key waits in fresh
	fresh   []Key
	later   []Key
	moved   int // keys that stand in later still, although they moved to fresh
	taken   int // fresh keys since the last one of later
}

// turn is how many fresh keys are taken before one of the others has its turn,
// so that endless events don't keep retries waiting for ever.
const turn = 16

func newLanes() *lanes { return &lanes{marked: map[Key]bool{}, waiting: map[Key]bool{}} }

// markFresh says that key's next addition is because of an event.
func (l *lanes) markFresh(key Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.marked[key] = true
}

func (l *lanes) takeMark(key Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	marked := l.marked[key]
	delete(l.marked, key)
	return marked
}

// Push adds a key that does not wait yet.
func (l *lanes) Push(key Key) {
	fresh := l.takeMark(key)
	l.waiting[key] = fresh
	if fresh {
		l.fresh = append(l.fresh, key)
	} else {
		l.later = append(l.later, key)
	}
}

// Touch moves a key that waits for a resync to the fresh ones if it met an event.
func (l *lanes) Touch(key Key) {
	if inFresh, waits := l.waiting[key]; l.takeMark(key) && waits && !inFresh {
		l.waiting[key] = true
		l.fresh = append(l.fresh, key)
		l.moved++
	}
}

// Len is the number of keys that wait.
func (l *lanes) Len() int { return len(l.fresh) + len(l.later) - l.moved }

// Pop takes the next key; there must be one.
func (l *lanes) Pop() Key {
	if len(l.fresh) > 0 && (l.taken < turn || len(l.later) == l.moved) {
		l.taken++
		key := shift(&l.fresh)
		delete(l.waiting, key)
		return key
	}
	l.taken = 0
	for {
		key := shift(&l.later)
		if inFresh, waits := l.waiting[key]; waits && !inFresh {
			delete(l.waiting, key)
			return key
		}
		l.moved--
	}
}

func shift(keys *[]Key) Key {
	key := (*keys)[0]
	(*keys)[0] = Key{}
	*keys = (*keys)[1:]
	return key
}
