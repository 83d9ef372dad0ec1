package jsonvalue

import (
	"math"
	"math/bits"
	"math/rand/v2"
)

// Fingerprint returns a hash of a JSON value that is the same in every process. Values that
// are Equal have the same. It is stored on objects: what it returns must never change.
func Fingerprint(v any) uint64 { return hasher{}.value(v) }

// Hash returns a hash of a JSON value that is of use in this process alone. Unlike
// Fingerprint, it differs for a field that is null and one that is absent, and for 1 and "i".
func Hash(v any) uint64 { return inProcess.value(v) }

var inProcess = hasher{nulls: true, text: rand.Uint64() | 1<<63}

// hasher walks through a value.
type hasher struct {
	nulls bool   // counts fields that are null
	text  uint64 // added to the length of texts, which tells them from numbers
}

func (h hasher) value(v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		var sum uint64 // The order of fields is not the same twice.
		for name, field := range v {
			if field != nil || h.nulls {
				sum += fold(h.string(name), h.value(field))
			}
		}
		return fold(sum, 'o')
	case []any:
		sum := uint64(len(v))
		for _, item := range v {
			sum = fold(sum, h.value(item))
		}
		return fold(sum, 'l')
	case string:
		return h.string(v)
	case bool:
		if v {
			return fold('t', 'b')
		}
		return fold('f', 'b')
	case nil:
		return fold('n', 'n')
	}
	if n, whole := Integer(v); whole {
		return fold(uint64(n), 'i')
	}
	f, _ := v.(float64)
	return fold(math.Float64bits(f), 'd')
}

// string takes eight bytes at a time: texts may be long.
func (h hasher) string(s string) uint64 {
	sum := uint64(len(s)) + h.text
	for len(s) >= 8 {
		sum = fold(sum, uint64(s[0])|uint64(s[1])<<8|uint64(s[2])<<16|uint64(s[3])<<24|
			uint64(s[4])<<32|uint64(s[5])<<40|uint64(s[6])<<48|uint64(s[7])<<56)
		s = s[8:]
	}
	var rest uint64
	for i := range len(s) {
		rest |= uint64(s[i]) << (8 * i)
	}
	return fold(sum, rest)
}

// fold makes one number of two, in which every bit of either counts.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a^0x9e3779b97f4a7c15, b^0xd6e8feb86659fd93)
	return high ^ low
}
