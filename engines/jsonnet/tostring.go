package jsonnet

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// toString returns what std.toString makes of a value: a text as it is, and JSON, in one
// line and with the VM's own way to write numbers and spaces, of anything else.
func toString(v any) string {
	if text, ok := v.(string); ok {
		return text
	}
	var b strings.Builder
	writeValue(&b, v)
	return b.String()
}

func writeValue(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case float64:
		b.WriteString(numberText(v))
	case string:
		writeQuoted(b, v)
	case []any:
		writeArray(b, v)
	case map[string]any:
		writeObject(b, v)
	}
}

// numberText writes whole numbers with all of their digits, others with seventeen.
func numberText(n float64) string {
	if n == math.Floor(n) {
		return strconv.FormatFloat(n, 'f', 0, 64)
	}
	return fmt.Sprintf("%.17g", n)
}

func writeArray(b *strings.Builder, elements []any) {
	if len(elements) == 0 {
		b.WriteString("[ ]")
		return
	}
	between := "["
	for _, v := range elements {
		b.WriteString(between)
		between = ", "
		writeValue(b, v)
	}
	b.WriteString("]")
}

func writeObject(b *strings.Builder, fields map[string]any) {
	if len(fields) == 0 {
		b.WriteString("{ }")
		return
	}
	between := "{"
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		b.WriteString(between)
		between = ", "
		writeQuoted(b, name)
		b.WriteString(": ")
		writeValue(b, fields[name])
	}
	b.WriteString("}")
}

// escapes are the characters with a short form in JSON, which the VM uses.
var escapes = map[rune]string{
	'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`, '\t': `\t`,
}

func writeQuoted(b *strings.Builder, text string) {
	b.WriteByte('"')
	for _, r := range text {
		switch short, ok := escapes[r]; {
		case ok:
			b.WriteString(short)
		case r < 0x20 || r >= 0x7f && r <= 0x9f:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
