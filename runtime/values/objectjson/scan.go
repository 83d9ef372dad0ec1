package objectjson

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	lowBits  = 0x0101010101010101
	highBits = 0x8080808080808080
)

// plainEnd returns the position of the first byte from i on that does not stand for itself in a string or ends
// it: a quote, a backslash, a control character, or one that is not ASCII. It looks at eight bytes at a time.
func plainEnd(b []byte, i int) int {
	for ; i+8 <= len(b); i += 8 {
		w := binary.LittleEndian.Uint64(b[i:])
		// A borrow can only mark bytes above one that is marked rightly.
		special := (w - 0x20*lowBits) | ((w ^ '"'*lowBits) - lowBits) | ((w ^ '\\'*lowBits) - lowBits) | w
		if special &= highBits; special != 0 {
			return i + bits.TrailingZeros64(special)/8
		}
	}
	for ; i < len(b); i++ {
		if c := b[i]; c < 0x20 || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return i
}

// scanString returns the bytes of the string that begins at the current position. They are valid until the
// next string is read. What is no UTF-8 becomes U+FFFD, as in encoding/json.
func (d *Decoder) scanString() ([]byte, bool) {
	start := d.pos + 1
	for i := start; ; {
		i = plainEnd(d.buf, i)
		if i < len(d.buf) {
			if d.buf[i] == '"' {
				d.pos, d.escaped = i+1, false
				return d.buf[start:i], true
			}
			return d.scanEscaped(start, i)
		}
		if !d.fill() {
			return nil, false
		}
	}
}

// scanEscaped is scanString for a string that has a byte at i that does not stand for itself.
func (d *Decoder) scanEscaped(start, i int) ([]byte, bool) {
	out := append(d.scratch[:0], d.buf[start:i]...)
	for {
		switch c := d.at(i); {
		case c == '"':
			d.pos, d.scratch, d.escaped = i+1, out, true
			return out, true
		case c == '\\':
			var ok bool
			if out, i, ok = d.unescape(out, i); !ok {
				return nil, false
			}
		case c < 0x20:
			d.pos = i
			return nil, d.unexpected("in a string: control characters must be escaped")
		case c >= utf8.RuneSelf:
			for !utf8.FullRune(d.buf[i:]) && d.fill() {
			}
			r, n := utf8.DecodeRune(d.buf[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
		end := plainEnd(d.buf, i)
		out = append(out, d.buf[i:end]...)
		i = end
	}
}

// unescape appends what the escape sequence at i stands for, and returns the position after it.
func (d *Decoder) unescape(out []byte, i int) ([]byte, int, bool) {
	switch c := d.at(i + 1); c {
	case '"', '\\', '/':
		return append(out, c), i + 2, true
	case 'b':
		return append(out, '\b'), i + 2, true
	case 'f':
		return append(out, '\f'), i + 2, true
	case 'n':
		return append(out, '\n'), i + 2, true
	case 'r':
		return append(out, '\r'), i + 2, true
	case 't':
		return append(out, '\t'), i + 2, true
	case 'u':
		r, ok := d.hexadecimal(i + 2)
		if !ok {
			return nil, 0, false
		}
		i += 6
		if utf16.IsSurrogate(r) {
			// A half without the other one becomes U+FFFD.
			high := r
			r = utf8.RuneError
			if d.at(i) == '\\' && d.at(i+1) == 'u' {
				low, ok := d.hexadecimal(i + 2)
				if !ok {
					return nil, 0, false
				}
				if pair := utf16.DecodeRune(high, low); pair != utf8.RuneError {
					r = pair
					i += 6
				}
			}
		}
		return utf8.AppendRune(out, r), i, true
	default:
		d.pos = i + 1
		return nil, 0, d.unexpected("after a backslash")
	}
}

// hexadecimal returns the four digits at i.
func (d *Decoder) hexadecimal(i int) (rune, bool) {
	var r rune
	for end := i + 4; i < end; i++ {
		c := d.at(i)
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			d.pos = i
			return 0, d.unexpected(`in \u, which needs four hexadecimal digits`)
		}
	}
	return r, true
}

// scanNumber returns the text of the number that begins at the current position, and whether it is an integer.
func (d *Decoder) scanNumber() (text []byte, integer, ok bool) {
	i := d.pos
	if d.at(i) == '-' {
		i++
	}
	switch c := d.at(i); {
	case c == '0':
		i++
	case '1' <= c && c <= '9':
		i = d.digits(i)
	default:
		d.pos = i
		return nil, false, d.unexpected("where a value begins")
	}
	integer = true
	if d.at(i) == '.' {
		integer = false
		if i = d.someDigits(i + 1); i < 0 {
			return nil, false, false
		}
	}
	if c := d.at(i); c == 'e' || c == 'E' {
		integer = false
		i++
		if c := d.at(i); c == '+' || c == '-' {
			i++
		}
		if i = d.someDigits(i); i < 0 {
			return nil, false, false
		}
	}
	text = d.buf[d.pos:i]
	d.pos = i
	return text, integer, true
}

// digits returns the position after the digits from i on.
func (d *Decoder) digits(i int) int {
	for c := d.at(i); '0' <= c && c <= '9'; c = d.at(i) {
		i++
	}
	return i
}

// someDigits is digits, but there must be one. Otherwise it returns -1.
func (d *Decoder) someDigits(i int) int {
	end := d.digits(i)
	if end == i {
		d.pos = i
		d.unexpected("in a number, where a digit must be")
		return -1
	}
	return end
}

// number decodes a number: an int64 if it is one.
func (d *Decoder) number() (any, uint64, bool) {
	start := d.pos
	text, integer, ok := d.scanNumber()
	if !ok {
		return nil, 0, false
	}
	if integer {
		if n, ok := parseInteger(text); ok {
			return n, mix(uint64(n), 1), true
		}
	}
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil {
		d.pos = start
		return nil, 0, d.fail("number " + string(text) + " is too large")
	}
	return f, mix(math.Float64bits(f), 2), true
}

// parseInteger returns false if the number is no int64.
func parseInteger(text []byte) (int64, bool) {
	if len(text) > 18 {
		n, err := strconv.ParseInt(string(text), 10, 64)
		return n, err == nil
	}
	negative := text[0] == '-'
	if negative {
		text = text[1:]
	}
	var n int64
	for _, c := range text {
		n = n*10 + int64(c-'0')
	}
	if negative {
		n = -n
	}
	return n, true
}

// literal decodes true, false or null.
func (d *Decoder) literal(text string, value any, hash uint64) (any, uint64, bool) {
	for i := range len(text) {
		if d.at(d.pos+i) != text[i] {
			d.pos += i
			return nil, 0, d.unexpected("in the word " + text)
		}
	}
	d.pos += len(text)
	return value, hash, true
}

// skip reads a value without building it.
func (d *Decoder) skip() bool {
	switch c := d.next(); c {
	case '{':
		return d.each(func([]byte) bool { return d.skip() })
	case '[':
		return d.eachItem(d.skip)
	case '"':
		_, ok := d.scanString()
		return ok
	case 't', 'f', 'n':
		_, _, ok := d.word(c)
		return ok
	default:
		_, _, ok := d.scanNumber()
		return ok
	}
}

// each calls f for every field of the object that is next, at its value, which f reads. The name is valid until
// f reads a string.
func (d *Decoder) each(f func(name []byte) bool) bool {
	if !d.enter() {
		return false
	}
	if d.next() == '}' {
		return d.leave()
	}
	for {
		name, ok := d.fieldName()
		if !ok || !f(name) {
			return false
		}
		switch d.next() {
		case ',':
			d.pos++
		case '}':
			return d.leave()
		default:
			return d.unexpected("after a field of an object")
		}
	}
}

// fieldName reads the name of a field and the colon.
func (d *Decoder) fieldName() ([]byte, bool) {
	if d.next() != '"' {
		return nil, d.unexpected("where the name of a field begins")
	}
	name, ok := d.scanString()
	if !ok {
		return nil, false
	}
	if d.next() != ':' {
		return nil, d.unexpected("after the name of a field")
	}
	d.pos++
	return name, true
}

// eachItem calls f for every item of the list that is next, which f reads.
func (d *Decoder) eachItem(f func() bool) bool {
	if !d.enter() {
		return false
	}
	if d.next() == ']' {
		return d.leave()
	}
	for {
		if !f() {
			return false
		}
		switch d.next() {
		case ',':
			d.pos++
		case ']':
			return d.leave()
		default:
			return d.unexpected("after an item of a list")
		}
	}
}

// leave ends an object or a list, whose last byte is next. It returns true.
func (d *Decoder) leave() bool {
	d.pos++
	d.depth--
	return true
}

// word decodes the literal that begins with c.
func (d *Decoder) word(c byte) (any, uint64, bool) {
	switch c {
	case 't':
		return d.literal("true", true, 3)
	case 'f':
		return d.literal("false", false, 4)
	default:
		return d.literal("null", nil, 5)
	}
}
