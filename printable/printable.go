// Package printable makes text of others safe to print: a terminal obeys control characters.
package printable

import (
	"io"
	"strings"
)

// Text returns a text whose control characters, but for line ends and tabs, are replaced.
func Text(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			return r
		}
		return '\ufffd'
	}, text)
}

// Line is Text for a text that is to stay on one line.
func Line(text string) string {
	return strings.NewReplacer("\n", " ", "\t", " ").Replace(Text(text))
}

// Writer returns a writer that writes Text of what it is given to out. No character may be in two writes.
func Writer(out io.Writer) io.Writer { return writer{out} }

type writer struct{ out io.Writer }

// Write writes the text.
func (w writer) Write(text []byte) (int, error) {
	if _, err := io.WriteString(w.out, Text(string(text))); err != nil {
		return 0, err
	}
	return len(text), nil
}
