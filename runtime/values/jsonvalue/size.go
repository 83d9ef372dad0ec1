package jsonvalue

import "math/bits"

// Approximate bytes of memory, as Go's runtime allocates them, of the parts of a value.
const (
	// ElementSize is that of an element of a list, without what the element refers to.
	ElementSize = 16
	// BoxSize is that of a list or a text, without its elements or bytes.
	BoxSize = 24
	// NumberSize is that of a number.
	NumberSize = 8
	emptyMap   = 48
	// smallMap is that of a map with up to smallMapEntries entries, even if it has only one.
	smallMap, smallMapEntries = 336, 8
	// mapSlot is that of one place for an entry. A larger map has a power of two of them, of which at most
	// seven in eight are taken.
	mapSlot = 40
)

// MapSize returns about how many bytes of memory a map with n entries takes, without the bytes of its
// keys and what its entries refer to.
func MapSize(n int) int {
	switch {
	case n == 0:
		return emptyMap
	case n <= smallMapEntries:
		return smallMap
	default:
		return emptyMap + mapSlot<<bits.Len(uint((n*8+6)/7-1))
	}
}

// Size returns about how many bytes of memory a JSON value takes. If they are more than limit, it returns
// some number above limit, and does not look at the rest. What occurs several times is counted each time.
func Size(v any, limit int) int {
	c := sizeCounter{limit: limit}
	c.add(v)
	return c.size
}

// sizeCounter walks through a value.
type sizeCounter struct{ size, limit int }

func (c *sizeCounter) add(v any) {
	switch v := v.(type) {
	case map[string]any:
		c.size += MapSize(len(v))
		for name, field := range v {
			if c.size > c.limit {
				return
			}
			c.size += len(name)
			c.add(field)
		}
	case []any:
		c.size += BoxSize + cap(v)*ElementSize
		for _, item := range v {
			if c.size > c.limit {
				return
			}
			c.add(item)
		}
	case string:
		c.size += BoxSize + len(v)
	case nil, bool:
	default:
		c.size += NumberSize
	}
}
