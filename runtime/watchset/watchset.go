// Package watchset shares watches between users: each key is watched once, for as long as it has a user.
package watchset

import (
	"context"
	"maps"
	"sync"
)

// WatchFunc watches one key and updates its entry until ctx ends.
type WatchFunc[K comparable, R any] func(ctx context.Context, key K, entry *Entry[R])

// Set holds the watched entries. K identifies an entry, R is its state. A Set is safe for concurrent
// use.
type Set[K comparable, R any] struct {
	watch WatchFunc[K, R]

	mu    sync.Mutex
	byKey map[K]*Entry[R]
}

// New returns an empty Set. It calls watch for each entry, in a goroutine of its own.
func New[K comparable, R any](watch WatchFunc[K, R]) *Set[K, R] {
	return &Set[K, R]{watch: watch, byKey: map[K]*Entry[R]{}}
}

// Watch is one user's handle on an entry.
type Watch[R any] struct {
	entry   *Entry[R]
	changed func()
	// release is idempotent.
	release func()
}

// Open watches the entry of a key until the handle is closed. What the key names need not exist. After
// every change of the state it calls changed, which must not block and may still be called once while
// Close returns.
func (s *Set[K, R]) Open(key K, changed func()) *Watch[R] {
	s.mu.Lock()
	defer s.mu.Unlock()
	entry := s.byKey[key]
	if entry == nil {
		ctx, cancel := context.WithCancel(context.Background())
		entry = &Entry[R]{stop: cancel, users: map[*Watch[R]]struct{}{}}
		s.byKey[key] = entry
		go s.watch(ctx, key, entry)
	}
	handle := &Watch[R]{entry: entry, changed: changed}
	handle.release = sync.OnceFunc(func() { s.release(key, handle) })
	entry.add(handle)
	return handle
}

// release removes a handle, and stops the watch if it was the last one.
func (s *Set[K, R]) release(key K, handle *Watch[R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if handle.entry.remove(handle) == 0 {
		handle.entry.stop()
		delete(s.byKey, key)
	}
}

// Read returns the current state.
func (w *Watch[R]) Read() R { return w.entry.Read() }

// Close closes the handle. The watch stops with its last handle. Close may be called more than once.
func (w *Watch[R]) Close() { w.release() }

// Entry is one watched entry, as its WatchFunc sees it.
type Entry[R any] struct {
	stop context.CancelFunc

	mu    sync.Mutex
	state R
	users map[*Watch[R]]struct{}
}

// Read returns the current state.
func (e *Entry[R]) Read() R {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Change edits the state and notifies all users. It must not change what earlier states refer to.
func (e *Entry[R]) Change(edit func(*R)) {
	e.mu.Lock()
	edit(&e.state)
	users := maps.Clone(e.users)
	e.mu.Unlock()
	for w := range users {
		w.changed()
	}
}

func (e *Entry[R]) add(w *Watch[R]) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.users[w] = struct{}{}
}

// remove removes a user and returns how many are left.
func (e *Entry[R]) remove(w *Watch[R]) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.users, w)
	return len(e.users)
}
