package lsp

import (
	"strings"
	"unicode/utf16"

	"go.lsp.dev/protocol"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// text is a text as an editor has it. Positions in it count UTF-16 code units.
type text []string

func newText(s string) text { return strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n") }

func (t text) line(i int) string {
	if i < 0 || i >= len(t) {
		return ""
	}
	return t[i]
}

// offset returns the line and the byte in it that are at a position.
func (t text) offset(at protocol.Position) (line, column int) {
	line = int(at.Line)
	units, s := int(at.Character), t.line(line)
	for i, r := range s {
		if units <= 0 {
			return line, i
		}
		units -= utf16.RuneLen(r)
	}
	return line, len(s)
}

// position returns the position of a byte of a line.
func (t text) position(line, column int) protocol.Position {
	s, units := t.line(line), 0
	for _, r := range s[:min(column, len(s))] {
		units += utf16.RuneLen(r)
	}
	return protocol.Position{Line: uint32(max(line, 0)), Character: uint32(units)}
}

func (t text) span(line, start, end int) protocol.Range {
	return protocol.Range{Start: t.position(line, start), End: t.position(line, end)}
}

// rangeOf returns what is meant by a place: the word that begins there, or the whole line.
func (t text) rangeOf(at engines.Location) protocol.Range {
	line := max(at.Line-1, 0)
	s := t.line(line)
	if at.Column == 0 {
		return t.span(line, len(s)-len(strings.TrimLeft(s, " \t")), len(strings.TrimRight(s, " \t")))
	}
	runes := []rune(s)
	start := len(string(runes[:min(at.Column-1, len(runes))]))
	end := start
	for end < len(s) && (spelling.InName(s[end]) || strings.IndexByte("-./", s[end]) >= 0 && end > start) {
		end++
	}
	if end == start {
		end = len(strings.TrimRight(s, " \t"))
	}
	return t.span(line, start, max(start, end))
}

// wordAt returns where the word around a byte of a line begins and ends.
func wordAt(s string, column int) (start, end int) {
	start, end = min(column, len(s)), min(column, len(s))
	for start > 0 && spelling.InName(s[start-1]) {
		start--
	}
	for end < len(s) && spelling.InName(s[end]) {
		end++
	}
	return start, end
}
