package jsonnet

import (
	"strings"
	"unicode/utf8"
)

// importRef is an import in a file, which Jsonnet has only of literals.
type importRef struct {
	// imported is what is asked for, as it is written.
	imported string
	// ofCode is false for importstr and importbin.
	ofCode       bool
	line, column int
}

// scanImports returns the imports of a file, in their order, without parsing it. It reports false if only the parser
// can tell: for what a file that does not parse has, the result means nothing.
func scanImports(text string) ([]importRef, bool) {
	if !strings.Contains(text, "import") {
		return nil, true
	}
	s := importScanner{text: text, line: 1}
	for s.at < len(text) {
		switch {
		case !isNotable[text[s.at]]:
			s.at++
		case text[s.at] != 'i':
			s.at += tokenLength(text[s.at:])
		case !s.word():
			return nil, false
		}
	}
	return s.found, true
}

// isNotable is true for the bytes that strings, comments and imports start with.
var isNotable = func() (notable [256]bool) {
	for _, c := range []byte(`"'@|#/i`) {
		notable[c] = true
	}
	return notable
}()

type importScanner struct {
	text string
	at   int
	// line and lineStart are those of the import before.
	line, lineStart int
	found           []importRef
}

// word reads a word, or the rest of one, that starts with i. It returns false for an import of anything but a string without escapes.
func (s *importScanner) word() bool {
	start := s.at
	for s.at < len(s.text) && isWordCharacter(s.text[s.at]) {
		s.at++
	}
	if start > 0 && isWordCharacter(s.text[start-1]) {
		return true
	}
	word := s.text[start:s.at]
	if word != "import" && word != "importstr" && word != "importbin" {
		return true
	}
	s.skipSpace()
	imported, ok := plainString(s.text[s.at:])
	s.line += strings.Count(s.text[s.lineStart:start], "\n")
	s.lineStart += strings.LastIndexByte(s.text[s.lineStart:start], '\n') + 1
	s.found = append(s.found, importRef{imported: imported, ofCode: word == "import", line: s.line, column: start - s.lineStart + 1})
	return ok
}

// skipSpace skips spaces and comments.
func (s *importScanner) skipSpace() {
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c <= ' ':
			s.at++
		case c == '#' || c == '/':
			s.at += tokenLength(s.text[s.at:])
		default:
			return
		}
	}
}

// plainString returns the content of the string that rest starts with, and false if it has escapes, or is none.
func plainString(rest string) (string, bool) {
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return "", false
	}
	content, _, closed := strings.Cut(rest[1:], rest[:1])
	return content, closed && !strings.Contains(content, `\`) && utf8.ValidString(content)
}
