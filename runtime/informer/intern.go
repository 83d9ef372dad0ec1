package informer

import (
	"hash/maphash"
	"math"
	"math/bits"
	"reflect"
)

// interner shares equal parts of objects, so that similar objects take little more memory than their
// differences. Most of a decoded object is maps of a few fields, of several hundred bytes each, and
// replicas of one template have nearly all of them in common.
//
// It compares with recently seen parts and with the object's previous version. Forgetting a part costs
// only memory. It must be used by one goroutine.
type interner struct {
	seed    maphash.Seed
	strings generationCache[string, any]
	values  generationCache[uint64, any] // By hash.
}

func newInterner() *interner { return &interner{seed: maphash.MakeSeed()} }

// object shares the parts of a new object with other objects, and first with its previous version, which
// may be nil and is not changed. The maps of the object itself and of its metadata are not shared,
// because no other object has equal ones.
func (s *interner) object(object, before map[string]any) {
	for name, value := range object {
		if metadata, ok := value.(map[string]any); ok && name == "metadata" {
			old, _ := before[name].(map[string]any)
			s.fields(metadata, old)
			continue
		}
		shared, _ := s.value(value, before[name])
		object[s.internString(name)] = shared
	}
}

// fields shares the names and values of a map and returns its hash.
func (s *interner) fields(object, before map[string]any) (hash uint64) {
	for name, value := range object {
		shared, h := s.value(value, before[name])
		object[s.internString(name)] = shared // The assignment replaces the key by the shared one.
		hash += mix(maphash.String(s.seed, name), h)
	}
	return mix(hash, uint64(len(object)))
}

// items shares the items of a list and returns its hash.
func (s *interner) items(list, before []any) (hash uint64) {
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

// value returns the shared instance of a value, and its hash.
func (s *interner) value(value, before any) (shared any, hash uint64) {
	switch v := value.(type) {
	case map[string]any:
		old, _ := before.(map[string]any)
		hash = s.fields(v, old)
	case []any:
		old, _ := before.([]any)
		hash = s.items(v, old)
	case string:
		return s.internValue(v, value), maphash.String(s.seed, v)
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
	known, ok := s.values.get(hash)
	switch {
	case before != nil && shallowEqual(before, value):
		shared = before
	case ok && shallowEqual(known, value):
		return known, hash
	default:
		shared = value
	}
	if !ok {
		s.values.put(hash, shared)
	}
	return shared, hash
}

// internString returns the shared instance of a string.
func (s *interner) internString(text string) string {
	known, _ := s.internValue(text, nil).(string)
	return known
}

// internValue returns the shared instance of a string as an interface value. If there is none, value
// becomes it, unless it is nil.
func (s *interner) internValue(text string, value any) any {
	if known, ok := s.strings.get(text); ok {
		return known
	}
	if value == nil {
		value = text
	}
	s.strings.put(text, value)
	return value
}

func mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}

// shallowEqual reports whether two maps or lists are equal. Their parts must be shared already: equal
// parts are then identical.
func shallowEqual(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for name, value := range a {
			if other, ok := b[name]; !ok || !identical(value, other) {
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
			if !identical(a[i], b[i]) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// identical reports whether two values are the same map or list, or equal scalars.
func identical(a, b any) bool {
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

// generationCache keeps recently used entries: all of the current generation, which ends when it is
// full, and those of the previous one.
type generationCache[K comparable, V any] struct{ current, previous map[K]V }

// generationSize bounds a generation.
const generationSize = 1 << 13

func (r *generationCache[K, V]) get(key K) (V, bool) {
	value, ok := r.current[key]
	if ok {
		return value, true
	}
	if value, ok = r.previous[key]; ok {
		r.put(key, value)
	}
	return value, ok
}

func (r *generationCache[K, V]) put(key K, value V) {
	if r.current == nil || len(r.current) >= generationSize {
		r.current, r.previous = map[K]V{}, r.current
	}
	r.current[key] = value
}
