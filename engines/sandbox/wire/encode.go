package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Encoder appends values to a message. The first error stays: what is appended
// after it is dropped, and Err gives it.
type Encoder struct {
	buf []byte
	err error
	// Max bounds the message in bytes. Zero means that it is not bounded.
	Max int
	// Sorted writes the keys of maps in order, so that equal values are equal bytes.
	Sorted bool
	// Share says of a map whether the reader shall keep it, or has it already. It
	// is not asked for maps within such a map.
	Share func(map[string]any) Shared

	// Again writes a list or map that the message has already as its number there,
	// for readers who expect that. Values must not change meanwhile.
	Again bool

	within   bool
	written  map[place]written
	numbered uint64
	deepest  int
}

// Shared is what is to be done about a map that may not have to be sent.
type Shared struct {
	// ID is the number that the reader knows the map by, or zero if it is sent
	// like any other.
	ID uint64
	// Held says that the reader has it.
	Held bool
	// Sent, if it is set, is told how many bytes the map took.
	Sent func(bytes int)
}

// NewEncoder gives an encoder that appends to buf.
func NewEncoder(buf []byte) *Encoder { return &Encoder{buf: buf} }

// Bytes is the message so far.
func (e *Encoder) Bytes() []byte { return e.buf }

// Err is the first thing that went wrong: ErrTooDeep, ErrTooLarge, or a value that JSON does not have.
func (e *Encoder) Err() error { return e.err }

// Uint appends a number that is no JSON value.
func (e *Encoder) Uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

// Int appends a number that is no JSON value.
func (e *Encoder) Int(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

// Bool appends a boolean that is no JSON value.
func (e *Encoder) Bool(b bool) {
	if b {
		e.Uint(1)
		return
	}
	e.Uint(0)
}

// String appends a text that is no JSON value.
func (e *Encoder) String(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// Strings appends texts that are no JSON value.
func (e *Encoder) Strings(all []string) {
	e.Uint(uint64(len(all)))
	for _, s := range all {
		e.String(s)
	}
}

// Value appends a JSON value.
func (e *Encoder) Value(v any) {
	e.value(v, 0)
	e.checkSize()
}

func (e *Encoder) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

func (e *Encoder) value(v any, depth int) {
	switch v := v.(type) {
	case nil:
		e.buf = append(e.buf, tagNil)
	case bool:
		e.buf = append(e.buf, tagFalse+flag(v))
	case int64:
		e.buf = binary.AppendVarint(append(e.buf, tagInt), v)
	case float64:
		e.float(v)
	case string:
		e.buf = append(e.buf, tagString)
		e.String(v)
	case []any:
		e.once(placeOfList(v), depth, func() { e.list(v, depth) })
	case map[string]any:
		e.once(placeOfMap(v), depth, func() { e.shared(v, depth) })
	default:
		e.fail(fmt.Errorf("a value is of type %T, which JSON does not have", v))
	}
}

func flag(b bool) byte {
	if b {
		return 1
	}
	return 0
}

func (e *Encoder) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		e.fail(fmt.Errorf("a value is %v, which is no number in JSON", f))
	}
	e.buf = binary.LittleEndian.AppendUint64(append(e.buf, tagFloat), math.Float64bits(f))
}

// enter says whether to go on into a list or a map. Limits are looked at there, and
// at the end of each: nothing else holds other values.
func (e *Encoder) enter(depth int) bool {
	if depth >= MaxDepth {
		e.fail(ErrTooDeep)
	}
	e.deepest = max(e.deepest, depth)
	e.checkSize()
	return e.err == nil
}

func (e *Encoder) checkSize() {
	if e.Max > 0 && len(e.buf) > e.Max {
		e.fail(ErrTooLarge)
	}
}

func (e *Encoder) list(l []any, depth int) {
	if !e.enter(depth) {
		return
	}
	e.buf = binary.AppendUvarint(append(e.buf, tagList), uint64(len(l)))
	for _, v := range l {
		if e.value(v, depth+1); e.err != nil {
			return
		}
	}
	e.checkSize()
}

func (e *Encoder) dict(m map[string]any, depth int) {
	if !e.enter(depth) {
		return
	}
	e.buf = binary.AppendUvarint(append(e.buf, tagMap), uint64(len(m)))
	if e.Sorted {
		e.sorted(m, depth)
		return
	}
	for key, v := range m {
		e.String(key)
		if e.value(v, depth+1); e.err != nil {
			return
		}
	}
	e.checkSize()
}

func (e *Encoder) sorted(m map[string]any, depth int) {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		e.String(key)
		e.value(m[key], depth+1)
	}
	e.checkSize()
}
