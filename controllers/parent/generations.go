package parent

import "time"

// generations is a map that forgets entries after one to two periods without a put. It drops a
// whole generation at once, so that no operation iterates over the entries.
type generations[K comparable, V any] struct {
	period     time.Duration
	since      time.Time // start of young
	young, old map[K]V
}

func newGenerations[K comparable, V any](period time.Duration, now time.Time) *generations[K, V] {
	return &generations[K, V]{period: period, since: now, young: map[K]V{}}
}

// rotate starts a new generation if the current one is a period old, and reports whether it did.
// Callers that depend on the expiry call it first.
func (g *generations[K, V]) rotate(now time.Time) bool {
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

// get returns the value of a key, and whether there is one.
func (g *generations[K, V]) get(key K) (V, bool) {
	if value, ok := g.young[key]; ok {
		return value, true
	}
	value, ok := g.old[key]
	return value, ok
}

// put sets the value of a key.
func (g *generations[K, V]) put(key K, value V) { g.young[key] = value }

// remove forgets a key.
func (g *generations[K, V]) remove(key K) {
	delete(g.young, key)
	delete(g.old, key)
}

// len returns the number of entries. An entry in both generations counts twice.
func (g *generations[K, V]) len() int { return len(g.young) + len(g.old) }
