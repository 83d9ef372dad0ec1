// Package expiring has a map that forgets what was not put again for a while.
package expiring

import (
	"time"
)

// Map is a map that forgets entries after one to two periods without a put. It drops a
// whole generation at once, so that no operation iterates over the entries.
type Map[K comparable, V any] struct {
	period     time.Duration
	since      time.Time // start of young
	young, old map[K]V
}

// New returns an empty Map whose generations last for a period.
func New[K comparable, V any](period time.Duration, now time.Time) *Map[K, V] {
	return &Map[K, V]{period: period, since: now, young: map[K]V{}}
}

// Rotate starts a new generation if the current one is a period old, and reports whether it did.
// Callers that depend on the expiry call it first.
func (g *Map[K, V]) Rotate(now time.Time) bool {
	age := now.Sub(g.since)
	if age < g.period {
		return false
	}
	g.old, g.young, g.since = g.young, map[K]V{}, now
	if age >= 2*g.period {
		g.old = nil
	}
	return true
}

// Get returns the value of a key, and whether there is one.
func (g *Map[K, V]) Get(key K) (V, bool) {
	if value, ok := g.young[key]; ok {
		return value, true
	}
	value, ok := g.old[key]
	return value, ok
}

// Put sets the value of a key.
func (g *Map[K, V]) Put(key K, value V) { g.young[key] = value }

// Remove forgets a key.
func (g *Map[K, V]) Remove(key K) {
	delete(g.young, key)
	delete(g.old, key)
}

// Len returns the number of entries. An entry in both generations counts twice.
func (g *Map[K, V]) Len() int { return len(g.young) + len(g.old) }
