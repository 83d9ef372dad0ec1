package apply

import (
	"hash/maphash"
	"math"
	"math/bits"
	"math/rand/v2"
)

// digests makes short digests of JSON values, which are of use in this process alone.
// Values that differ have different ones but for a chance of one in 2^64. Equal values
// may have different ones, if they are written in another way.
type valueHasher struct {
	seed maphash.Seed
	salt uint64
}

func newValueHasher() valueHasher {
	seed := maphash.MakeSeed()
	return valueHasher{seed: seed, salt: maphash.String(seed, "salt")}
}

// Something to tell values of different types apart that look the same.
const (
	aNull uint64 = iota + 1
	aBool
	aNumber
	aList
	anObject
)

// of gives the digest of a value. The fields of an object are in no order, so that
// theirs are added up.
func (d valueHasher) of(v any) uint64 {
	switch v := v.(type) {
	case string:
		return maphash.String(d.seed, v)
	case map[string]any:
		sum := anObject
		for name, field := range v {
			sum += d.mix(maphash.String(d.seed, name), d.of(field))
		}
		return d.mix(sum, uint64(len(v)))
	case []any:
		sum := aList
		for _, item := range v {
			sum = d.mix(sum, d.of(item))
		}
		return sum
	case bool:
		if v {
			return d.mix(aBool, 1)
		}
		return d.mix(aBool, 0)
	case int64:
		return d.mix(aNumber, uint64(v))
	case float64:
		return d.mix(aNumber, math.Float64bits(v))
	case nil:
		return d.mix(aNull, 0)
	}
	return rand.Uint64() // No JSON: never the same twice.
}

// mix makes one number of two, in this order.
func (d valueHasher) mix(a, b uint64) uint64 {
	high, low := bits.Mul64(a^d.salt, b^bits.RotateLeft64(d.salt, 32))
	return high ^ low
}
