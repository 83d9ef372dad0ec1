package engines

import (
	"strings"
	"unicode/utf8"
)

// Limits on the texts of an Error, in bytes of JSON. A failed call is reported in several places: its error
// in the log, an event and a condition, its stack in the log. Together with the limits of package parent,
// all of these stay below 16 KiB.
const (
	maxFileBytes    = 256
	maxMessageBytes = 1 << 10
	maxStackBytes   = 2 << 10
)

// Bounded returns a copy of the error whose texts are truncated to the limits. Code that receives an error
// from a script or a server calls it.
func (e *Error) Bounded() *Error {
	b := *e
	b.Location.File, b.Message, b.Stack = Truncate(e.Location.File, maxFileBytes), Truncate(e.Message, maxMessageBytes), nil
	left := maxStackBytes
	for _, frame := range e.Stack {
		short := Truncate(frame, left)
		b.Stack = append(b.Stack, short)
		if left -= JSONBytes(short) + frameBytes; left <= 0 {
			break
		}
	}
	return &b
}

// frameBytes is what Detail adds to a line of the stack.
const frameBytes = len(`\n    `)

// Truncate returns text as valid UTF-8, or its start and an ellipsis if it has more than limit bytes.
// They are counted as in JSON, which is what logs, events and statuses become: there a control character
// takes six.
func Truncate(text string, limit int) string {
	start := strings.ToValidUTF8(text[:min(len(text), max(limit, 0))], "")
	left := limit
	for i, r := range start {
		if left -= jsonBytes(r); left < 0 {
			return start[:i] + "..."
		}
	}
	if len(text) > limit {
		return start + "..."
	}
	return start
}

// JSONBytes returns how many bytes a text takes in JSON, without quotation marks.
func JSONBytes(text string) (n int) {
	for _, r := range text {
		n += jsonBytes(r)
	}
	return n
}

func jsonBytes(r rune) int {
	switch r {
	case '"', '\\', '\n', '\r', '\t':
		return len(`\n`)
	case '\u2028', '\u2029', utf8.RuneError:
		return len(`\u2028`)
	}
	if r < ' ' {
		return len(`\u0000`)
	}
	return utf8.RuneLen(r)
}

// ByteOrderMark begins files of some editors, and is no part of their text.
const ByteOrderMark = "\ufeff"
