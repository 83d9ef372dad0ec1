package wire

import (
	"encoding/binary"
	"reflect"
)

// An answer often holds the same list or map many times, such as the containers of pods that are made
// from one template. The encoder identifies it by its address. From the second time on, it writes a back
// reference: a number. Both sides number the lists and maps that are written in full and take at least
// minBackRefBytes, in the order in which they end.
const (
	minBackRefBytes = 64
	// backRefBytes is the decoder's memory for one back reference.
	backRefBytes = 40
)

// identity is the address of a list or map.
type identity struct {
	address uintptr
	length  int // Of a list; -1 for a map.
}

func listIdentity(l []any) identity { return identity{reflect.ValueOf(l).Pointer(), len(l)} }

func mapIdentity(m map[string]any) identity { return identity{address(m), -1} }

// backRef is a list or map that was written in full.
type backRef struct {
	number uint64
	height int // Levels of nesting, itself included.
}

// encodeOnce calls write to append a list or map, or appends a back reference if the message has it
// already.
func (e *Encoder) encodeOnce(at identity, depth int, write func()) {
	if !e.BackRefs {
		write()
		return
	}
	if w, ok := e.backRefs[at]; ok && depth+w.height <= MaxDepth {
		e.buf = binary.AppendUvarint(append(e.buf, tagBackRef), w.number)
		e.deepest = max(e.deepest, depth+w.height-1)
		return
	}
	start, outer := len(e.buf), e.deepest
	e.deepest = depth
	write()
	if len(e.buf)-start >= minBackRefBytes && (e.buf[start] == tagList || e.buf[start] == tagMap) {
		e.addBackRef(at, e.deepest-depth+1)
	}
	e.deepest = max(outer, e.deepest)
}

func (e *Encoder) addBackRef(at identity, height int) {
	if e.backRefs == nil {
		e.backRefs = map[identity]backRef{}
	}
	e.backRefs[at] = backRef{e.nextBackRef, height}
	e.nextBackRef++
}

// container is a list or map that was decoded.
type container struct {
	value  any
	memory int // Memory that a copy would take.
	height int
}

// container decodes a list or map, and numbers it as the encoder did.
func (d *Decoder) container(depth int, read func(depth int) (any, error)) (any, error) {
	if d.BackRefCost == 0 {
		return read(depth)
	}
	before, spent, outer := len(d.buf)+1, d.used, d.deepest // With its tag, which has been read.
	d.deepest = depth
	v, err := read(depth)
	if bytes := before - len(d.buf); err == nil && bytes >= minBackRefBytes {
		d.containers = append(d.containers, container{v, max(d.used-spent, bytes*d.BackRefCost), d.deepest - depth + 1})
		err = d.charge(backRefBytes)
	}
	d.deepest = max(outer, d.deepest)
	return v, err
}

// backRef resolves a back reference. It is charged like a copy. Otherwise a small message could expand
// to more memory than the reader of the result can handle.
func (d *Decoder) backRef(depth int) (any, error) {
	n, err := d.Uint()
	if err != nil || n >= uint64(len(d.containers)) {
		return nil, ErrMalformed
	}
	p := d.containers[n]
	if depth+p.height > MaxDepth {
		return nil, ErrTooDeep
	}
	d.deepest = max(d.deepest, depth+p.height-1)
	return p.value, d.charge(p.memory)
}
