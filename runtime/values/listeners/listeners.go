// Package listeners has lists of functions that are called when something changes.
package listeners

import (
	"slices"
	"sync"
)

// List is a list of functions of a type. The zero value is empty. Its methods may be called by several goroutines.
type List[F any] struct {
	mu  sync.RWMutex
	all []*F
}

// Add adds f, and returns what takes it out. A call of f that is under way then goes on.
func (l *List[F]) Add(f F) (remove func()) {
	added := &f
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, added)
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = slices.DeleteFunc(l.all, func(other *F) bool { return other == added })
	}
}

// All returns the functions that are in the list now, in the order in which they were added.
func (l *List[F]) All() []F {
	l.mu.RLock()
	defer l.mu.RUnlock()
	all := make([]F, len(l.all))
	for i, f := range l.all {
		all[i] = *f
	}
	return all
}
