package apply

import (
	"math"
	"math/bits"
)

// fingerprint is a hash of a JSON value, the same in every process. Values that the
// API takes for the same have the same: a field that is null is none, and 1 is 1.0.
func fingerprint(v any) uint64 {
	switch v := v.(type) {
	case map[string]any:
		var sum uint64 // The order of fields is not the same twice.
		for name, field := range v {
			if field != nil {
				sum += fold(foldText(name), fingerprint(field))
			}
		}
		return fold(sum, 'o')
	case []any:
		sum := uint64(len(v))
		for _, item := range v {
			sum = fold(sum, fingerprint(item))
		}
		return fold(sum, 'l')
	case string:
		return foldText(v)
	case bool:
		if v {
			return fold('t', 'b')
		}
		return fold('f', 'b')
	case nil:
		return fold('n', 'n')
	}
	if n, whole := integer(v); whole {
		return fold(uint64(n), 'i')
	}
	f, _ := v.(float64)
	return fold(math.Float64bits(f), 'd')
}

// foldText takes eight bytes at a time: texts may be long.
func foldText(s string) uint64 {
	sum := uint64(len(s))
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
