package wire

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
)

// Encoder appends values to a message. After the first error it drops what is appended; Err returns that
// error.
type Encoder struct {
	buf []byte
	err error
	// Max bounds the message in bytes. Zero means no limit.
	Max int
	// Sorted writes map keys in order, so that equal values have equal bytes.
	Sorted bool
	// Share returns whether the reader keeps a map, or has it already. It is not called for maps inside
	// a shared map.
	Share func(map[string]any) Shared

	// BackRefs writes a list or map that the message has already as a back reference. The Decoder needs
	// a BackRefCost then. Values must not change until the message is complete.
	BackRefs bool

	inShared    bool
	backRefs    map[identity]backRef
	nextBackRef uint64
	deepest     int
}

// Shared says how to encode a map that the reader may have.
type Shared struct {
	// ID identifies the map for the reader. If it is zero, the map is encoded in full and not kept.
	ID uint64
	// Known means that the reader has the map.
	Known bool
	// OnSent, if set, is called with the encoded size of the map.
	OnSent func(bytes int)
}

// NewEncoder returns an Encoder that appends to buf.
func NewEncoder(buf []byte) *Encoder { return &Encoder{buf: buf} }

// Bytes returns the message so far.
func (e *Encoder) Bytes() []byte { return e.buf }

// Err returns the first error: ErrTooDeep, ErrTooLarge, or a value that JSON does not have.
func (e *Encoder) Err() error { return e.err }

// Uint appends a number that is not a JSON value.
func (e *Encoder) Uint(n uint64) { e.buf = binary.AppendUvarint(e.buf, n) }

// Int appends a number that is not a JSON value.
func (e *Encoder) Int(n int64) { e.buf = binary.AppendVarint(e.buf, n) }

// Bool appends a boolean that is not a JSON value.
func (e *Encoder) Bool(b bool) {
	if b {
		e.Uint(1)
		return
	}
	e.Uint(0)
}

// String appends a string that is not a JSON value.
func (e *Encoder) String(s string) {
	e.buf = binary.AppendUvarint(e.buf, uint64(len(s)))
	e.buf = append(e.buf, s...)
}

// Strings appends strings that are not JSON values.
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
		e.buf = append(e.buf, tagFalse+boolByte(v))
	case int64:
		e.buf = binary.AppendVarint(append(e.buf, tagInt), v)
	case float64:
		e.float(v)
	case string:
		e.buf = append(e.buf, tagString)
		e.String(v)
	case []any:
		e.encodeOnce(listIdentity(v), depth, func() { e.list(v, depth) })
	case map[string]any:
		e.encodeOnce(mapIdentity(v), depth, func() { e.sharedMap(v, depth) })
	default:
		e.fail(fmt.Errorf("a value is of type %T, which JSON does not have", v))
	}
}

func boolByte(b bool) byte {
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

// enter reports whether to encode the elements of a list or map. Limits are checked here and at the end
// of each list and map; other values have no elements.
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
