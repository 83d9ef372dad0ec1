package wire

import "reflect"

// Objects holds the maps that a reader keeps from one message to the next, by ID. They must not be
// changed.
type Objects struct {
	byID map[uint64]map[string]any
	ids  map[uintptr]uint64 // By address of the map.
}

// NewObjects returns an empty set.
func NewObjects() *Objects {
	return &Objects{byID: map[uint64]map[string]any{}, ids: map[uintptr]uint64{}}
}

// Put stores a map. It replaces a map with the same ID.
func (o *Objects) Put(number uint64, m map[string]any) {
	o.Delete(number)
	o.byID[number] = m
	o.ids[address(m)] = number
}

// Delete removes the map with that ID, if there is one.
func (o *Objects) Delete(number uint64) {
	if m, ok := o.byID[number]; ok {
		delete(o.byID, number)
		delete(o.ids, address(m))
	}
}

// Get returns the map with that ID, or nil. It fits Decoder.Lookup: a reference takes no memory.
func (o *Objects) Get(number uint64) (m map[string]any, memory int) { return o.byID[number], 0 }

// Share returns which maps the other side has. It fits Encoder.Share for an answer to the sender of
// these maps.
func (o *Objects) Share(m map[string]any) Shared {
	number, held := o.ids[address(m)]
	if !held {
		return Shared{}
	}
	return Shared{ID: number, Known: true}
}

func address(m map[string]any) uintptr { return reflect.ValueOf(m).Pointer() }
