package wire

import (
	"encoding/binary"
	"reflect"
)

// An answer often holds the same list or map many times, such as the containers of
// pods that are made of one template. The writer knows it by where it is, and writes
// its number from the second time on. Both sides number alike: as they end, what is
// written whole and takes at least leastAgain bytes.
const (
	leastAgain = 64
	// partBytes is what it takes the reader to remember one.
	partBytes = 40
)

// place is where a list or a map is.
type place struct {
	at     uintptr
	length int // Of a list, -1 of a map.
}

func placeOfList(l []any) place { return place{reflect.ValueOf(l).Pointer(), len(l)} }

func placeOfMap(m map[string]any) place { return place{address(m), -1} }

// written is a list or map that was written whole.
type written struct {
	number uint64
	height int // How many lists and maps it is, counted downwards.
}

// once has write append a list or map, unless that is in the message already.
func (e *Encoder) once(at place, depth int, write func()) {
	if !e.Again {
		write()
		return
	}
	if w, ok := e.written[at]; ok && depth+w.height <= MaxDepth {
		e.buf = binary.AppendUvarint(append(e.buf, tagAgain), w.number)
		e.deepest = max(e.deepest, depth+w.height-1)
		return
	}
	start, outer := len(e.buf), e.deepest
	e.deepest = depth
	write()
	if len(e.buf)-start >= leastAgain && (e.buf[start] == tagList || e.buf[start] == tagMap) {
		e.remember(at, e.deepest-depth+1)
	}
	e.deepest = max(outer, e.deepest)
}

func (e *Encoder) remember(at place, height int) {
	if e.written == nil {
		e.written = map[place]written{}
	}
	e.written[at] = written{e.numbered, height}
	e.numbered++
}

// part is a list or map that was read.
type part struct {
	value  any
	memory int // That a copy would count for.
	height int
}

// part reads a list or map, and remembers it as the writer did.
func (d *Decoder) part(depth int, read func(depth int) (any, error)) (any, error) {
	if d.Again == 0 {
		return read(depth)
	}
	before, spent, outer := len(d.buf)+1, d.spent, d.deepest // With its tag, which has been taken.
	d.deepest = depth
	v, err := read(depth)
	if bytes := before - len(d.buf); err == nil && bytes >= leastAgain {
		d.parts = append(d.parts, part{v, max(d.spent-spent, bytes*d.Again), d.deepest - depth + 1})
		err = d.spend(partBytes)
	}
	d.deepest = max(outer, d.deepest)
	return v, err
}

// again takes the number of a list or map that came before. It counts as if it were
// a copy, of which a message could otherwise make more than anybody can hold.
func (d *Decoder) again(depth int) (any, error) {
	n, err := d.Uint()
	if err != nil || n >= uint64(len(d.parts)) {
		return nil, ErrMalformed
	}
	p := d.parts[n]
	if depth+p.height > MaxDepth {
		return nil, ErrTooDeep
	}
	d.deepest = max(d.deepest, depth+p.height-1)
	return p.value, d.spend(p.memory)
}
