package wire

import "reflect"

// Objects are maps that a reader keeps from one message to the next, each under its
// number. They must not be changed.
type Objects struct {
	byNumber map[uint64]map[string]any
	numbers  map[uintptr]uint64 // By where the map is.
}

// NewObjects gives an empty set.
func NewObjects() *Objects {
	return &Objects{byNumber: map[uint64]map[string]any{}, numbers: map[uintptr]uint64{}}
}

// Keep keeps a map, in place of another one of that number.
func (o *Objects) Keep(number uint64, m map[string]any) {
	o.Drop(number)
	o.byNumber[number] = m
	o.numbers[address(m)] = number
}

// Drop forgets the map of that number, if there is one.
func (o *Objects) Drop(number uint64) {
	if m, ok := o.byNumber[number]; ok {
		delete(o.byNumber, number)
		delete(o.numbers, address(m))
	}
}

// Len is how many maps are kept.
func (o *Objects) Len() int { return len(o.byNumber) }

// Held gives the map of that number, or nil. It is for Decoder.Held: what is read
// again takes no more memory.
func (o *Objects) Held(number uint64) (m map[string]any, memory int) { return o.byNumber[number], 0 }

// Share says that the other side has the maps that are kept. It is for Encoder.Share
// of an answer to whoever sent them.
func (o *Objects) Share(m map[string]any) Shared {
	number, held := o.numbers[address(m)]
	if !held {
		return Shared{}
	}
	return Shared{ID: number, Held: true}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
