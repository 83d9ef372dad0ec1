// Package shared keeps things under watch that several users may need: each once, and for as long as
// somebody needs it.
package shared

import (
	"context"
	"maps"
	"sync"
)

// Follow keeps the reading of one thing up to date until ctx ends.
type Follow[K comparable, R any] func(ctx context.Context, key K, thing *Thing[R])

// Watches are the things that are under watch, of which K names one and R is what is known of it at one
// moment. They are used by many goroutines at once.
type Watches[K comparable, R any] struct {
	follow Follow[K, R]

	mu    sync.Mutex
	byKey map[K]*Thing[R]
}

// New gives watches of which each is kept by a call of follow, in a goroutine of its own.
func New[K comparable, R any](follow Follow[K, R]) *Watches[K, R] {
	return &Watches[K, R]{follow: follow, byKey: map[K]*Thing[R]{}}
}

// Watch is one user's share of a watch.
type Watch[R any] struct {
	thing   *Thing[R]
	changed func()
	// leave ends the share, and does so once.
	leave func()
}

// Open watches a thing, which need not exist, until the watch is closed. After every change of what
// Read gives it calls changed, which must not block and may still be called once while Close returns.
func (w *Watches[K, R]) Open(key K, changed func()) *Watch[R] {
	w.mu.Lock()
	defer w.mu.Unlock()
	thing := w.byKey[key]
	if thing == nil {
		ctx, cancel := context.WithCancel(context.Background())
		thing = &Thing[R]{stop: cancel, users: map[*Watch[R]]struct{}{}}
		w.byKey[key] = thing
		go w.follow(ctx, key, thing)
	}
	one := &Watch[R]{thing: thing, changed: changed}
	one.leave = sync.OnceFunc(func() { w.close(key, one) })
	thing.join(one)
	return one
}

// close ends the watch if nobody else has it.
func (w *Watches[K, R]) close(key K, one *Watch[R]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if one.thing.leave(one) == 0 {
		one.thing.stop()
		delete(w.byKey, key)
	}
}

// Read gives what is known at this moment.
func (w *Watch[R]) Read() R { return w.thing.Read() }

// Close leaves the watch, and ends it if nobody else has it. It may be called more than once.
func (w *Watch[R]) Close() { w.leave() }

// Thing is one thing under watch, as who follows it sees it.
type Thing[R any] struct {
	stop context.CancelFunc

	mu    sync.Mutex
	now   R
	users map[*Watch[R]]struct{}
}

// Read gives what is known at this moment.
func (t *Thing[R]) Read() R {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now
}

// Change edits the reading and tells all users. What readings that were given before refer to must stay as it is.
func (t *Thing[R]) Change(edit func(*R)) {
	t.mu.Lock()
	edit(&t.now)
	users := maps.Clone(t.users)
	t.mu.Unlock()
	for w := range users {
		w.changed()
	}
}

func (t *Thing[R]) join(w *Watch[R]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.users[w] = struct{}{}
}

// leave takes a user away and says how many are left.
func (t *Thing[R]) leave(w *Watch[R]) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.users, w)
	return len(t.users)
}
