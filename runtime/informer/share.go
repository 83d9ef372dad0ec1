package informer

import (
	"hash/maphash"
	"math"
	"math/bits"
	"reflect"
)

// sharer makes equal parts of objects one, so that a cache of objects that are
// much alike takes little more memory than what tells them apart: most of a
// decoded object is maps of a few fields, of several hundred bytes each, and
// replicas of one template have nearly all of them in common.
//
// It knows what it has met lately and what an object was like before. That it
// forgets costs memory and nothing else. It is used by one goroutine.
type sharer struct {
	seed  maphash.Seed
	texts recent[string, any]
	parts recent[uint64, any] // by hash
}

func newSharer() *sharer { return &sharer{seed: maphash.MakeSeed()} }

// object shares the parts of an object that nobody else has seen yet with others,
// and first of all with its former self, which may be nil and stays as it is. The
// object's own map and that of its metadata, which are like no other, stay its own.
func (s *sharer) object(object, before map[string]any) {
	for name, value := range object {
		if metadata, ok := value.(map[string]any); ok && name == "metadata" {
			old, _ := before[name].(map[string]any)
			s.fields(metadata, old)
			continue
		}
		shared, _ := s.value(value, before[name])
		object[s.text(name)] = shared
	}
}

// fields shares the names and values of an object and gives its hash.
func (s *sharer) fields(object, before map[string]any) (hash uint64) {
	for name, value := range object {
		shared, h := s.value(value, before[name])
		object[s.text(name)] = shared // Go takes the name that it is given for that of an equal one.
		hash += mix(maphash.String(s.seed, name), h)
	}
	return mix(hash, uint64(len(object)))
}

// items shares the items of a list and gives its hash.
func (s *sharer) items(list, before []any) (hash uint64) {
	for i, item := range list {
		var old any
		if i < len(before) {
			old = before[i]
		}
		shared, h := s.value(item, old)
		list[i] = shared
		hash = mix(hash, h)
	}
	return mix(hash, ^uint64(len(list)))
}

// value gives what stands for a value from now on, and the value's hash.
func (s *sharer) value(value, before any) (shared any, hash uint64) {
	switch v := value.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		hash = s.fields(v, old)
	case []any:
		old, _ := before.([]any)
		hash = s.items(v, old)
	case string:
		return s.boxed(v, value), maphash.String(s.seed, v)
	case int64:
		return value, mix(uint64(v), 1)
	case float64:
		return value, mix(math.Float64bits(v), 2)
	case bool:
		if v {
			return value, 3
		}
		return value, 4
	default:
		return value, 5
	}
	known, ok := s.parts.get(hash)
	switch {
	case before != nil && equal(before, value):
		shared = before
	case ok && equal(known, value):
		return known, hash
	default:
		shared = value
	}
	if !ok {
		s.parts.put(hash, shared)
	}
	return shared, hash
}

// text gives the one copy of a text.
func (s *sharer) text(text string) string {
	known, _ := s.boxed(text, nil).(string)
	return known
}

// boxed gives the one copy of a text as a value, which value is unless it is nil.
func (s *sharer) boxed(text string, value any) any {
	if known, ok := s.texts.get(text); ok {
		return known
	}
	if value == nil {
		value = text
	}
	s.texts.put(text, value)
	return value
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// equal compares two values of which the parts are shared already, so that those
// are equal if they are one and the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !same(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// same says whether two values are one part, or equal and no parts.
func same(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	case []any:
		b, ok := b.([]any)
		return ok && len(a) == len(b) && reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer()
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// recent holds what was looked up lately: all of this generation, which ends
// when it is full, and what is left of the one before.
type recent[K comparable, V any] struct{ fresh, stale map[K]V }

// generation bounds what is kept only because it was met lately.
const generation = 1 << 13

func (r *recent[K, V]) get(key K) (V, bool) {
	value, ok := r.fresh[key]
	if ok {
		return value, true
	}
	if value, ok = r.stale[key]; ok {
		r.put(key, value)
	}
	return value, ok
}

func (r *recent[K, V]) put(key K, value V) {
	if r.fresh == nil || len(r.fresh) >= generation {
		r.fresh, r.stale = map[K]V{}, r.fresh
	}
	r.fresh[key] = value
}
