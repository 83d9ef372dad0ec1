package wire

import (
	"encoding/binary"
	"errors"
)

// sharedMap appends a map in full, or its ID if the reader has it.
func (e *Encoder) sharedMap(m map[string]any, depth int) {
	if e.Share == nil || e.inShared {
		e.dict(m, depth)
		return
	}
	switch s := e.Share(m); {
	case s.ID == 0:
		e.dict(m, depth)
	case s.Known:
		e.buf = binary.AppendUvarint(append(e.buf, tagReference), s.ID)
	default:
		e.store(m, s)
	}
}

// store appends a map with an ID and its length in bytes, so that the reader can keep a copy of exactly
// these bytes. Its depth counts from itself, because it may be used at any place later.
func (e *Encoder) store(m map[string]any, s Shared) {
	e.buf = binary.AppendUvarint(append(e.buf, tagStore), s.ID)
	at := len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0)
	e.inShared = true
	e.dict(m, 0)
	e.inShared = false
	size := len(e.buf) - at - 4
	binary.LittleEndian.PutUint32(e.buf[at:], uint32(size))
	if s.OnSent != nil && e.err == nil {
		s.OnSent(size)
	}
}

func (d *Decoder) reference() (any, error) {
	id, err := d.Uint()
	if err != nil || d.Lookup == nil {
		return nil, errors.Join(err, ErrMalformed)
	}
	m, memory := d.Lookup(id)
	if m == nil {
		return nil, ErrMalformed
	}
	return m, d.charge(memory)
}

// stored decodes a map from a copy of its bytes, so that keeping it does not keep the whole message.
func (d *Decoder) stored() (any, error) {
	id, err := d.Uint()
	if err != nil {
		return nil, err
	}
	if d.Objects == nil || len(d.buf) < 4 {
		return nil, ErrMalformed
	}
	size := int(binary.LittleEndian.Uint32(d.buf))
	if size > len(d.buf)-4 {
		return nil, ErrMalformed
	}
	own := &Decoder{buf: append([]byte(nil), d.buf[4:4+size]...), Memory: d.Memory, used: d.used}
	v, err := own.Value()
	d.buf, d.used = d.buf[4+size:], own.used
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok || len(own.buf) > 0 {
		return nil, ErrMalformed
	}
	d.Objects.Put(id, m)
	return m, nil
}
