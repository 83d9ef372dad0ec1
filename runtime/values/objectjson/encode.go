package objectjson

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Append appends a value as JSON, byte for byte as json.Marshal writes it: the names of an object are sorted, and
// <, > and & escaped. It allocates nothing but room in dst for the values that objects of Kubernetes are made of; for any
// other, it calls json.Marshal. The error is json.Marshal's. The value must have no cycles.
func Append(dst []byte, v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	dst, err := e.value(dst, v)
	e.forget()
	encoders.Put(e)
	return dst, err
}

// Marshal returns a value as JSON, as Append does.
func Marshal(v any) ([]byte, error) {
	buf := buffers.Get().(*[]byte)
	text, err := Append((*buf)[:0], v)
	var out []byte
	if err == nil {
		out = slices.Clone(text)
	}
	releaseBuffer(buf, text)
	return out, err
}

// Write writes a value as JSON, as Append does, in one call of w.
func Write(w io.Writer, v any) error {
	buf := buffers.Get().(*[]byte)
	text, err := Append((*buf)[:0], v)
	if err == nil {
		_, err = w.Write(text)
	}
	releaseBuffer(buf, text)
	return err
}

// MarshalString is Marshal for a string.
func MarshalString(v any) (string, error) {
	buf := buffers.Get().(*[]byte)
	text, err := Append((*buf)[:0], v)
	out := ""
	if err == nil {
		out = string(text)
	}
	releaseBuffer(buf, text)
	return out, err
}

// IsEncoding reports whether text is what Append writes for a value.
func IsEncoding(text string, v any) bool {
	buf := buffers.Get().(*[]byte)
	written, err := Append((*buf)[:0], v)
	same := err == nil && string(written) == text
	releaseBuffer(buf, written)
	return same
}

// Unquote returns the string that a text stands for, with its quotes, as json.Unmarshal would.
func Unquote(text string) (value string, ok bool) {
	if text == "" || text[0] != '"' {
		return "", false
	}
	d := decoders.Get().(*Decoder)
	defer decoders.Put(d)
	d.reset(Options{})
	d.buf, d.pos, d.dropped, d.err = []byte(text), 0, 0, nil
	raw, ok := d.scanString()
	if ok = ok && d.pos == len(text); ok {
		value = string(raw)
	}
	d.forget()
	d.buf, d.options, d.share, d.names = nil, Options{}, nil, nil
	return value, ok
}

var (
	encoders = sync.Pool{New: func() any { return new(encoder) }}
	buffers  = sync.Pool{New: func() any { return new([]byte) }}
)

// maxIdleText and maxIdleNames bound the buffers and the lists of names that are kept for reuse.
const maxIdleText, maxIdleNames = 256 << 10, 1 << 10

func releaseBuffer(buf *[]byte, text []byte) {
	if cap(text) <= maxIdleText {
		*buf = text
		buffers.Put(buf)
	}
}

// encoder holds the names of the objects that are being written, sorted, one object after the other.
type encoder struct{ names []string }

// forget releases the names of the last value, between two values.
func (e *encoder) forget() {
	if cap(e.names) > maxIdleNames {
		e.names = nil
	}
	clear(e.names[:cap(e.names)])
	e.names = e.names[:0]
}

func (e *encoder) value(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case map[string]any:
		return e.object(dst, v)
	case []any:
		return e.list(dst, v)
	case string:
		return appendString(dst, v), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case nil:
		return append(dst, "null"...), nil
	case float64:
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			return appendFloat(dst, v), nil
		}
	}
	text, err := json.Marshal(v)
	return append(dst, text...), err
}

func (e *encoder) object(dst []byte, object map[string]any) ([]byte, error) {
	if object == nil {
		return append(dst, "null"...), nil
	}
	start := len(e.names)
	for name := range object {
		e.names = append(e.names, name)
	}
	end := len(e.names)
	slices.Sort(e.names[start:end])
	dst = append(dst, '{')
	for i := start; i < end; i++ {
		if i > start {
			dst = append(dst, ',')
		}
		name := e.names[i]
		dst = append(appendString(dst, name), ':')
		var err error
		if dst, err = e.value(dst, object[name]); err != nil {
			return dst, err
		}
	}
	e.names = e.names[:start]
	return append(dst, '}'), nil
}

func (e *encoder) list(dst []byte, items []any) ([]byte, error) {
	if items == nil {
		return append(dst, "null"...), nil
	}
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = e.value(dst, item); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendFloat writes the shortest digits that stand for f, with an exponent where ES6 has one.
func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	if abs == 0 || abs >= 1e-6 && abs < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && (dst[n-3] == '-' || dst[n-3] == '+') && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 is written e-9.
		dst = dst[:n-1]
	}
	return dst
}

// plainASCII are the characters that stand for themselves in a string.
var plainASCII = func() (plain [utf8.RuneSelf]bool) {
	for c := range plain {
		plain[c] = c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&'
	}
	return plain
}()

const hexDigits = "0123456789abcdef"

func appendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if plainASCII[c] {
				i++
				continue
			}
			dst = appendEscaped(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, s[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029':
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, s[start:]...), '"')
}

func appendEscaped(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, '\\', 'b')
	case '\f':
		return append(dst, '\\', 'f')
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
