package wire

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

const (
	// textBytes is the memory of a text, and of a list, beside its bytes or elements.
	textBytes = 16
	// entryBytes is the memory of an entry of the table of known keys, beside the bytes of the key.
	entryBytes = 40
	// maxKeys bounds the table. Most objects share a few keys.
	maxKeys = 4096
)

// Largest capacities that are allocated at once without a limit on memory. Larger lists and maps then grow as
// their elements arrive. With a limit they are charged before they are made, and made at once: growing would take
// twice the memory for a while.
const (
	maxListCapacity = 1024
	maxMapCapacity  = 128
)

// Decoder reads values from the front of a message.
type Decoder struct {
	buf []byte
	// Copy makes copies of strings. Without it, strings share memory with the message, which then must
	// not change.
	Copy bool
	// Memory bounds the approximate memory of the decoded values. Zero means no limit but the message's
	// length.
	Memory int
	// Objects stores the maps that the message says to keep. If it is nil, such messages are malformed.
	Objects *Objects
	// Lookup returns the map with an ID, or nil, and the memory that a copy of it would take, which is
	// charged. If it is nil, messages with references are malformed.
	Lookup func(number uint64) (m map[string]any, memory int)

	// BackRefCost is the least memory to charge for each byte of a list or map that a back reference
	// repeats. If it is zero, messages with back references are malformed.
	BackRefCost int

	used       int
	keys       map[string]string
	containers []container
	deepest    int
}

// NewDecoder returns a Decoder that reads message.
func NewDecoder(message []byte) *Decoder { return &Decoder{buf: message} }

// Uint reads a number that is not a JSON value.
func (d *Decoder) Uint() (uint64, error) {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		return 0, ErrMalformed
	}
	d.buf = d.buf[size:]
	return n, nil
}

// Int reads a number that is not a JSON value.
func (d *Decoder) Int() (int64, error) {
	n, size := binary.Varint(d.buf)
	if size <= 0 {
		return 0, ErrMalformed
	}
	d.buf = d.buf[size:]
	return n, nil
}

// Bool reads a boolean that is not a JSON value.
func (d *Decoder) Bool() (bool, error) {
	n, err := d.Uint()
	return n != 0, err
}

// String reads a string that is not a JSON value.
func (d *Decoder) String() (string, error) {
	text, err := d.bytes()
	if err != nil {
		return "", err
	}
	if d.Copy {
		return string(text), nil
	}
	return aliasString(text), nil
}

// bytes reads a string without copying it.
func (d *Decoder) bytes() ([]byte, error) {
	n, err := d.Uint()
	if err != nil || n > uint64(len(d.buf)) {
		return nil, ErrMalformed
	}
	text := d.buf[:n]
	d.buf = d.buf[n:]
	return text, nil
}

// aliasString returns a string that shares memory with text.
func aliasString(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// Strings reads strings that are not JSON values.
func (d *Decoder) Strings() ([]string, error) {
	n, err := d.Uint()
	if err != nil || n > uint64(len(d.buf)) {
		return nil, ErrMalformed
	}
	all := make([]string, 0, min(n, maxListCapacity))
	for range n {
		s, err := d.String()
		if err != nil {
			return nil, err
		}
		if err := d.charge(textBytes); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Len returns the number of unread bytes.
func (d *Decoder) Len() int { return len(d.buf) }

// Value reads a JSON value. The error is ErrMalformed, ErrTooDeep or ErrTooLarge.
func (d *Decoder) Value() (any, error) { return d.value(0) }

func (d *Decoder) charge(bytes int) error {
	d.used += bytes
	if d.Memory > 0 && d.used > d.Memory {
		return ErrTooLarge
	}
	return nil
}

func (d *Decoder) value(depth int) (any, error) {
	if len(d.buf) == 0 {
		return nil, ErrMalformed
	}
	tag := d.buf[0]
	d.buf = d.buf[1:]
	switch tag {
	case tagNil:
		return nil, nil
	case tagFalse, tagTrue:
		return tag == tagTrue, nil
	case tagInt:
		n, err := d.Int()
		if err != nil {
			return nil, err
		}
		return n, d.charge(jsonvalue.NumberSize)
	case tagFloat:
		return d.float()
	case tagString:
		return d.text()
	case tagList:
		return d.container(depth, d.list)
	case tagMap:
		return d.container(depth, d.dict)
	case tagStore:
		return d.stored()
	case tagReference:
		return d.reference()
	case tagBackRef:
		return d.backRef(depth)
	default:
		return nil, ErrMalformed
	}
}

func (d *Decoder) float() (any, error) {
	if len(d.buf) < 8 {
		return nil, ErrMalformed
	}
	f := math.Float64frombits(binary.LittleEndian.Uint64(d.buf))
	d.buf = d.buf[8:]
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, ErrMalformed
	}
	return f, d.charge(jsonvalue.NumberSize)
}

func (d *Decoder) text() (any, error) {
	s, err := d.String()
	if err != nil {
		return nil, err
	}
	return s, d.charge(textBytes + len(s))
}

// count reads the number of elements, each of which takes at least size bytes.
func (d *Decoder) count(depth, size int) (int, error) {
	if depth >= MaxDepth {
		return 0, ErrTooDeep
	}
	d.deepest = max(d.deepest, depth)
	n, err := d.Uint()
	if err != nil || n > uint64(len(d.buf)/size) {
		return 0, ErrMalformed
	}
	return int(n), nil
}

// capacity returns how many of n elements to make room for. Those that are charged all get it.
func (d *Decoder) capacity(n, most int) int {
	if d.Memory > 0 {
		return n
	}
	return min(n, most)
}

func (d *Decoder) list(depth int) (any, error) {
	n, err := d.count(depth, 1)
	if err != nil {
		return nil, err
	}
	if err := d.charge(textBytes + n*jsonvalue.ElementSize); err != nil {
		return nil, err
	}
	l := make([]any, 0, d.capacity(n, maxListCapacity))
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		l = append(l, v)
	}
	return l, nil
}

func (d *Decoder) dict(depth int) (any, error) {
	n, err := d.count(depth, 2)
	if err != nil {
		return nil, err
	}
	if err := d.charge(jsonvalue.MapSize(n)); err != nil {
		return nil, err
	}
	m := make(map[string]any, d.capacity(n, maxMapCapacity))
	for range n {
		if err := d.entry(m, depth); err != nil {
			return nil, err
		}
	}
	if len(m) != n {
		return nil, ErrMalformed // A duplicate key.
	}
	return m, nil
}

func (d *Decoder) entry(m map[string]any, depth int) error {
	key, err := d.key()
	if err != nil {
		return err
	}
	v, err := d.value(depth + 1)
	m[key] = v
	return err
}

// key reads a key of a map. Copies of a key are made once, because objects share a few keys.
func (d *Decoder) key() (string, error) {
	text, err := d.bytes()
	if err != nil {
		return "", err
	}
	if !d.Copy {
		return aliasString(text), nil
	}
	if key, ok := d.keys[string(text)]; ok {
		return key, nil
	}
	if d.keys == nil {
		d.keys = map[string]string{}
	}
	key := string(text)
	if len(d.keys) < maxKeys {
		d.keys[key] = key
	}
	return key, d.charge(entryBytes + len(key))
}
