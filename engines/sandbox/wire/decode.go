package wire

import (
	"encoding/binary"
	"math"
	"unsafe"
)

// What values take in memory, roughly, beside the bytes of their texts.
const (
	elementBytes = 16
	numberBytes  = 8
	textBytes    = 16
	entryBytes   = 40
	mapBytes     = 48
	// roomBytes is what a map takes for its first eight entries, however many it has of them.
	roomBytes = 272
)

// Room is made for this many parts at once; for more, only as they come.
const (
	roomInList = 1024
	roomInMap  = 128
)

// Decoder takes values from the front of a message.
type Decoder struct {
	buf []byte
	// Copy makes texts of their own. Without it they are parts of the message,
	// which then must not change and is kept as long as any of them is.
	Copy bool
	// Memory bounds what is allocated for values, in bytes, roughly. Zero means
	// that only the message's length does.
	Memory int
	// Objects is where maps are kept that shall be; nil refuses messages with any.
	Objects *Objects
	// Held gives the map of a number that the writer says is held here, or nil, and
	// what a copy of it would take, which counts; unset, it refuses messages with any.
	Held func(number uint64) (m map[string]any, memory int)

	// Again is what a byte counts for at least, in bytes of memory, of a list or map
	// that comes again. Zero refuses messages in which any does.
	Again int

	spent   int
	keys    map[string]string
	parts   []part
	deepest int
}

// NewDecoder gives a decoder of that message.
func NewDecoder(message []byte) *Decoder { return &Decoder{buf: message} }

// Uint takes a number that is no JSON value.
func (d *Decoder) Uint() (uint64, error) {
	n, size := binary.Uvarint(d.buf)
	if size <= 0 {
		return 0, ErrMalformed
	}
	d.buf = d.buf[size:]
	return n, nil
}

// Int takes a number that is no JSON value.
func (d *Decoder) Int() (int64, error) {
	n, size := binary.Varint(d.buf)
	if size <= 0 {
		return 0, ErrMalformed
	}
	d.buf = d.buf[size:]
	return n, nil
}

// Bool takes a boolean that is no JSON value.
func (d *Decoder) Bool() (bool, error) {
	n, err := d.Uint()
	return n != 0, err
}

// String takes a text that is no JSON value.
func (d *Decoder) String() (string, error) {
	text, err := d.bytes()
	if err != nil {
		return "", err
	}
	if d.Copy {
		return string(text), nil
	}
	return shared(text), nil
}

// bytes takes a text as it is in the message.
func (d *Decoder) bytes() ([]byte, error) {
	n, err := d.Uint()
	if err != nil || n > uint64(len(d.buf)) {
		return nil, ErrMalformed
	}
	text := d.buf[:n]
	d.buf = d.buf[n:]
	return text, nil
}

// shared is a text that lies in the message.
func shared(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

// Strings takes texts that are no JSON value.
func (d *Decoder) Strings() ([]string, error) {
	n, err := d.Uint()
	if err != nil || n > uint64(len(d.buf)) {
		return nil, ErrMalformed
	}
	all := make([]string, 0, min(n, roomInList))
	for range n {
		s, err := d.String()
		if err != nil {
			return nil, err
		}
		if err := d.spend(textBytes); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// Len is how many bytes are left.
func (d *Decoder) Len() int { return len(d.buf) }

// Value takes a JSON value: ErrMalformed, ErrTooDeep or ErrTooLarge if it can't.
func (d *Decoder) Value() (any, error) { return d.value(0) }

func (d *Decoder) spend(bytes int) error {
	d.spent += bytes
	if d.Memory > 0 && d.spent > d.Memory {
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
		return n, d.spend(numberBytes)
	case tagFloat:
		return d.float()
	case tagString:
		return d.text()
	case tagList:
		return d.part(depth, d.list)
	case tagMap:
		return d.part(depth, d.dict)
	case tagKept:
		return d.kept()
	case tagHeld:
		return d.held()
	case tagAgain:
		return d.again(depth)
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
	return f, d.spend(numberBytes)
}

func (d *Decoder) text() (any, error) {
	s, err := d.String()
	if err != nil {
		return nil, err
	}
	return s, d.spend(textBytes + len(s))
}

// count takes the number of parts, each of which takes at least size bytes.
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

func (d *Decoder) list(depth int) (any, error) {
	n, err := d.count(depth, 1)
	if err != nil {
		return nil, err
	}
	if err := d.spend(textBytes + n*elementBytes); err != nil {
		return nil, err
	}
	l := make([]any, 0, min(n, roomInList))
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
	if err := d.spend(mapBytes + min(n, 1)*roomBytes + max(n-8, 0)*entryBytes); err != nil {
		return nil, err
	}
	m := make(map[string]any, min(n, roomInMap))
	for range n {
		if err := d.entry(m, depth); err != nil {
			return nil, err
		}
	}
	if len(m) != n {
		return nil, ErrMalformed // A key came twice.
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

// key takes a map's key. Copies of it are made once: objects have the same few keys.
func (d *Decoder) key() (string, error) {
	text, err := d.bytes()
	if err != nil {
		return "", err
	}
	if !d.Copy {
		return shared(text), nil
	}
	if key, ok := d.keys[string(text)]; ok {
		return key, nil
	}
	if d.keys == nil {
		d.keys = map[string]string{}
	}
	key := string(text)
	d.keys[key] = key
	return key, d.spend(entryBytes + len(key))
}
