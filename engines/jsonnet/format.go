package jsonnet

import (
	"errors"
	"strings"
	"unicode/utf8"
)

// go-jsonnet has std.format, and with it the operator %, in Jsonnet: one call takes
// as long as two hundred with +. The functions here give the same texts (see
// format_test.go), and null for what they leave to std.format: all that is an
// error, and rare formats.

// formatCount returns how many values a format takes, or null.
func formatCount(args []any) (any, error) {
	codes, ok := parseFormat(args[0])
	if !ok {
		return nil, nil
	}
	count := 0
	for _, c := range codes {
		count += c.values()
	}
	return count, nil
}

// formatKeys returns the fields that a format takes of an object, one for each value, or null.
func formatKeys(args []any) (any, error) {
	codes, ok := parseFormat(args[0])
	if !ok {
		return nil, nil
	}
	keys := []any{}
	for _, c := range codes {
		if c.kind == 0 || c.kind == '%' {
			continue
		}
		if !c.keyed || c.width == fromValues || c.precision == fromValues {
			return nil, nil
		}
		keys = append(keys, c.key)
	}
	return keys, nil
}

// formatValues returns the text of a format and its values, of which there must be
// as many as formatCount or formatKeys said, or null.
func formatValues(args []any) (any, error) {
	codes, ok := parseFormat(args[0])
	values, isList := args[1].([]any)
	if !ok || !isList {
		return nil, nil
	}
	w := formatter{values: values, ok: true}
	for _, c := range codes {
		w.write(c)
	}
	if !w.ok || len(w.values) > 0 {
		return nil, nil
	}
	return w.text.String(), nil
}

var errOverflow = errors.New("Overflow")

// formatNumber returns the text of one code and its number. What std.format has as an
// error is one here, too.
func formatNumber(args []any) (any, error) {
	text, err := formatValues([]any{args[0], args[1:]})
	if text == nil && err == nil {
		return nil, errOverflow
	}
	return text, err
}

// formatter writes codes, and takes their values.
type formatter struct {
	values []any
	text   strings.Builder
	// ok is false once a value was not as its code wants it.
	ok bool
}

func (w *formatter) write(c code) {
	if c.kind == 0 {
		w.text.WriteString(c.text)
		return
	}
	width := w.size(c.width)
	precision := w.size(c.precision)
	if c.kind == '%' {
		w.pad("%", width, c.left)
		return
	}
	v, ok := w.next()
	if !ok {
		return
	}
	text, ok := format(v, c, width, precision)
	w.ok = w.ok && ok
	w.pad(text, width, c.left)
}

// next takes a value.
func (w *formatter) next() (any, bool) {
	if !w.ok || len(w.values) == 0 {
		w.ok = false
		return nil, false
	}
	v := w.values[0]
	w.values = w.values[1:]
	return v, true
}

// size returns a width or precision, which may be among the values.
func (w *formatter) size(given int) int {
	if given != fromValues {
		return given
	}
	v, _ := w.next()
	n, ok := v.(float64)
	if !ok || n != float64(int(n)) || n < 0 || n > maxSize {
		w.ok = false
		return 0
	}
	return int(n)
}

func (w *formatter) pad(text string, width int, left bool) {
	missing := spaces(width - utf8.RuneCountInString(text))
	if left {
		w.text.WriteString(text + missing)
	} else {
		w.text.WriteString(missing + text)
	}
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 0)) }

// format returns the text of a value before it is padded with spaces.
func format(v any, c code, width, precision int) (string, bool) {
	switch c.kind {
	case 's':
		return toString(v), true
	case 'c':
		return character(v)
	}
	n, ok := v.(float64)
	if !ok {
		return "", false
	}
	f := numberFormat{code: c, precision: precision}
	if c.zero && !c.left {
		f.width = width
	}
	return f.write(n)
}

// character returns one of a code point, or a text of just one.
func character(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, utf8.RuneCountInString(v) == 1
	case float64:
		return string(rune(v)), v >= 0 && v <= utf8.MaxRune
	default:
		return "", false
	}
}
