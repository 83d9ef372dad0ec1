package wire

import (
	"encoding/binary"
	"errors"
)

// shared appends a map whole, or its number if the reader has it.
func (e *Encoder) shared(m map[string]any, depth int) {
	if e.Share == nil || e.within {
		e.dict(m, depth)
		return
	}
	switch s := e.Share(m); {
	case s.ID == 0:
		e.dict(m, depth)
	case s.Held:
		e.buf = binary.AppendUvarint(append(e.buf, tagHeld), s.ID)
	default:
		e.kept(m, s)
	}
}

// kept appends a map with its length in bytes, so that the reader can keep those
// bytes and no others. Its depth counts from itself, because it may be read at
// any place afterwards.
func (e *Encoder) kept(m map[string]any, s Shared) {
	e.buf = binary.AppendUvarint(append(e.buf, tagKept), s.ID)
	at := len(e.buf)
	e.buf = append(e.buf, 0, 0, 0, 0)
	e.within = true
	e.dict(m, 0)
	e.within = false
	size := len(e.buf) - at - 4
	binary.LittleEndian.PutUint32(e.buf[at:], uint32(size))
	if s.Sent != nil && e.err == nil {
		s.Sent(size)
	}
}

func (d *Decoder) held() (any, error) {
	id, err := d.Uint()
	if err != nil || d.Held == nil {
		return nil, errors.Join(err, ErrMalformed)
	}
	m, memory := d.Held(id)
	if m == nil {
		return nil, ErrMalformed
	}
	return m, d.spend(memory)
}

// kept reads a map from a copy of its bytes, so that to keep it does not mean to
// keep the message.
func (d *Decoder) kept() (any, error) {
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
	own := &Decoder{buf: append([]byte(nil), d.buf[4:4+size]...), Memory: d.Memory, spent: d.spent}
	v, err := own.Value()
	d.buf, d.spent = d.buf[4+size:], own.spent
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok || len(own.buf) > 0 {
		return nil, ErrMalformed
	}
	d.Objects.Keep(id, m)
	return m, nil
}
