// Package objectjson decodes Kubernetes objects from JSON, from bytes and from the streams of lists and watches.
//
// It returns the values that package unstructured would: map[string]any, []any, string, bool, int64 (float64 if
// a number is no int64), nil. It reads the text once, skips metadata.managedFields instead of building them, and
// can share equal parts of objects while it decodes (Interner).
package objectjson

import (
	"errors"
	"fmt"
	"io"
	"sync"
)

const (
	// maxDepth is how deep objects and lists may be nested, as in encoding/json.
	maxDepth = 10000
	// maxValue bounds the bytes of an object in a stream, as client-go does.
	maxValue = 16 << 20
	// minBuffer and maxIdleBuffer bound the buffer of a stream between two objects.
	minBuffer, maxIdleBuffer = 8 << 10, 64 << 10
	// maxIdleStack bounds the stacks of fields and items between two objects.
	maxIdleStack = 512
)

// Options say what is decoded. The zero value decodes an object without its managedFields and shares nothing.
type Options struct {
	// KeepManagedFields reports whether an entry of metadata.managedFields is kept. Nil keeps none. Kept entries
	// lose time and fieldsType, so that equal ones can be shared. If none is kept, the field is absent.
	KeepManagedFields func(manager, operation, subresource string) bool
	// Interner shares equal parts with other objects. What is decoded is then read-only. Nil shares nothing.
	Interner *Interner
	// Previous returns a known version of the object, or nil. Equal parts are shared with it, also without the
	// interner's help. It needs an Interner. It is called once metadata is reached: fields before metadata are not
	// shared with the previous version.
	Previous func(namespace, name string) map[string]any
}

// ErrTooLarge is the error of an object in a stream that exceeds 16 MiB.
var ErrTooLarge = errors.New("the object has more than 16 MiB")

// SyntaxError is text that is no JSON, or no object of Kubernetes.
type SyntaxError struct {
	Offset  int64 // Where it is, in bytes from the start of the text or stream.
	Problem string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("byte %d: %s", e.Offset, e.Problem) }

// Decoder decodes objects, one after the other. It must be used by one goroutine at a time.
type Decoder struct {
	options Options
	share   *Interner // The interner of the options, or nil.
	names   *Interner // Shares the names of fields: share, or own.
	own     *Interner

	source  io.Reader // Nil for bytes.
	buf     []byte    // What was read.
	begun   int       // Where the current object begins.
	pos     int
	dropped int64 // Bytes of the stream before buf.
	err     error // The first error: nothing can be decoded after it.

	depth                 int
	fields                []field  // Of the maps that are being decoded.
	items                 []any    // Of the lists that are being decoded.
	held                  int      // Bytes of the strings decoded so far that the interner does not keep already.
	longTexts             []string // The first long strings of the object.
	escaped               bool     // Whether the last string had bytes that do not stand for themselves.
	scratch               []byte
	itemKind, itemVersion string // Of a list, for items that have none.
}

// field is a field of a map.
type field struct {
	name  string
	hash  uint64 // Of the name.
	value any
}

// NewDecoder returns a Decoder for a stream. It may read beyond the object that it decodes.
func NewDecoder(source io.Reader, options Options) *Decoder {
	d := &Decoder{source: source, buf: make([]byte, 0, minBuffer)}
	d.reset(options)
	return d
}

func (d *Decoder) reset(options Options) {
	d.options, d.share, d.names = options, options.Interner, options.Interner
	if d.share == nil {
		if d.own == nil {
			d.own = NewInterner()
		}
		d.names = d.own
	}
}

// decoders keeps decoders of bytes, for the names of fields that they know.
var decoders = sync.Pool{New: func() any { return &Decoder{} }}

// Decode decodes an object. It must have a kind, and nothing but white space may follow it.
func Decode(data []byte, options Options) (map[string]any, error) {
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	d.reset(options)
	d.buf, d.pos, d.dropped, d.err = data, 0, 0, nil
	object, ok := d.root()
	if ok && d.next() != 0 {
		ok = d.unexpected("after the object")
	}
	err := d.err
	d.buf, d.options, d.share, d.names = nil, Options{}, nil, nil
	if !ok {
		return nil, err
	}
	return object, nil
}

// root decodes an object that has a kind.
func (d *Decoder) root() (map[string]any, bool) {
	d.begin()
	object, ok := d.topObject()
	if !ok {
		return nil, false
	}
	if kind, _ := object["kind"].(string); kind == "" {
		return nil, d.fail("the object has no kind")
	}
	return object, true
}

// topObject decodes an object with its metadata.
func (d *Decoder) topObject() (map[string]any, bool) {
	if d.next() != '{' {
		return nil, d.unexpected("where an object begins")
	}
	value, _, ok := d.object(nil, objectLevel)
	d.forget()
	object, _ := value.(map[string]any)
	return object, ok
}

// forget releases what the decoder has of the last object, between two objects.
func (d *Decoder) forget() {
	if cap(d.fields) > maxIdleStack || cap(d.items) > maxIdleStack {
		d.fields, d.items = nil, nil
	}
	clear(d.fields[:cap(d.fields)])
	clear(d.items[:cap(d.items)])
	clear(d.longTexts)
	d.longTexts = d.longTexts[:0]
	if cap(d.scratch) > maxIdleBuffer {
		d.scratch = nil
	}
}

// begin prepares for the next object.
func (d *Decoder) begin() {
	d.depth, d.held = 0, 0
	d.fields, d.items = d.fields[:0], d.items[:0]
	if d.source != nil {
		d.compact()
	}
}

// compact removes from the buffer what was decoded, once that is more than what is left: otherwise all that came after a large
// object would be moved again for each small one.
func (d *Decoder) compact() {
	rest := d.buf[d.pos:]
	if len(rest) > d.pos {
		d.begun = d.pos
		return
	}
	d.dropped += int64(d.pos)
	d.begun, d.pos = 0, 0
	if cap(d.buf) > maxIdleBuffer && len(rest) < minBuffer {
		d.buf = append(make([]byte, 0, minBuffer), rest...)
		return
	}
	d.buf = d.buf[:copy(d.buf[:cap(d.buf)], rest)]
}

// fill reads more of the stream into the buffer. It returns false at the end and after an error.
func (d *Decoder) fill() bool {
	if d.err != nil {
		return false
	}
	if d.source == nil {
		d.err = io.ErrUnexpectedEOF
		return false
	}
	if len(d.buf)-d.begun >= maxValue {
		d.err = ErrTooLarge
		return false
	}
	if len(d.buf) == cap(d.buf) {
		d.buf = append(make([]byte, 0, 2*cap(d.buf)), d.buf...)
	}
	for range 100 {
		n, err := d.source.Read(d.buf[len(d.buf):cap(d.buf)])
		d.buf = d.buf[:len(d.buf)+n]
		if n > 0 {
			return true // An error comes again.
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			d.err = err
			return false
		}
	}
	d.err = io.ErrNoProgress
	return false
}

// next skips white space and returns the next byte, or 0 at the end.
func (d *Decoder) next() byte {
	if d.pos < len(d.buf) {
		if c := d.buf[d.pos]; c > ' ' {
			return c
		}
	}
	return d.nextAfterSpace()
}

func (d *Decoder) nextAfterSpace() byte {
	for {
		for ; d.pos < len(d.buf); d.pos++ {
			switch c := d.buf[d.pos]; c {
			case ' ', '\t', '\r', '\n':
			case 0:
				return 1 // No JSON has it: an error for all callers.
			default:
				return c
			}
		}
		if !d.fill() {
			return 0
		}
	}
}

// at returns the byte at a position of the buffer, or 0 at the end.
func (d *Decoder) at(i int) byte {
	for i >= len(d.buf) {
		if !d.fill() {
			return 0
		}
	}
	return d.buf[i]
}

// fail records that the text is wrong at the current position. It returns false.
func (d *Decoder) fail(problem string) bool {
	if d.err == nil {
		d.err = &SyntaxError{Offset: d.dropped + int64(d.pos), Problem: problem}
	}
	return false
}

// unexpected records that the next byte is wrong there. It returns false.
func (d *Decoder) unexpected(where string) bool {
	if d.pos >= len(d.buf) {
		return d.fail("the text ends " + where)
	}
	return d.fail(fmt.Sprintf("%q %s", d.buf[d.pos], where))
}

// enter begins an object or a list, whose first byte is next.
func (d *Decoder) enter() bool {
	d.pos++
	d.depth++
	return d.depth <= maxDepth || d.fail("nested too deeply")
}
