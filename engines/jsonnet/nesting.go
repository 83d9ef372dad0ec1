package jsonnet

import (
	"fmt"
	"strings"
)

// checkNesting returns what in a source could nest too deep for the parser, or "". It is a
// scan that reads strings and comments as Jsonnet's lexer does, but does not parse:
// the parser recurses, and a stack overflow in Go ends the process.
func checkNesting(source string) string {
	open, parts := []bracket{{}}, 0
	for i := 0; i < len(source); {
		length := tokenLength(source[i:])
		last := &open[len(open)-1]
		before := last.parts
		switch c := source[i]; {
		case strings.IndexByte("([{", c) >= 0:
			open = append(open, bracket{})
		case strings.IndexByte(")]}", c) >= 0 && len(open) > 1:
			last.parts, open = 0, open[:len(open)-1]
		case isToken(source, i, length):
			last.token(c)
		}
		parts += last.parts - before
		if len(open)-1 > maxSourceNesting {
			return fmt.Sprintf("brackets are nested more than %d deep", maxSourceNesting)
		}
		if parts > maxSourceParts {
			return fmt.Sprintf("an expression has more than %d parts: give names to some, as fields of an object", maxSourceParts)
		}
		i += length
	}
	return ""
}

// bracket is one that is open.
type bracket struct {
	// parts are its tokens, of which those before a comma are over. No expression
	// nests deeper than it has tokens.
	parts int
	// enclosing are the parts up to the last semicolon: they hold all that follows.
	enclosing int
}

func (b *bracket) token(c byte) {
	switch c {
	case ',':
		b.parts = b.enclosing
	case ';':
		b.parts++
		b.enclosing = b.parts
	default:
		b.parts++
	}
}

// isToken reports whether a token starts at i: spaces and comments are none, and of a
// word or number only the first character is.
func isToken(source string, i, length int) bool {
	switch {
	case length > 1:
		return source[i] != '#' && source[i] != '/'
	case source[i] <= ' ':
		return false
	default:
		return !isWordCharacter(source[i]) || i == 0 || !isWordCharacter(source[i-1])
	}
}

func isWordCharacter(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// tokenLength returns the length of the string or comment that rest starts with, and 1 if it starts with neither.
func tokenLength(rest string) int {
	switch {
	case rest[0] == '"' || rest[0] == '\'':
		return escapedLength(rest)
	case strings.HasPrefix(rest, "@'") || strings.HasPrefix(rest, `@"`):
		return verbatimLength(rest)
	case strings.HasPrefix(rest, "|||"):
		return blockLength(rest)
	case rest[0] == '#' || strings.HasPrefix(rest, "//"):
		return lengthUntil(rest, 1, "\n")
	case strings.HasPrefix(rest, "/*"):
		return lengthUntil(rest, 2, "*/")
	default:
		return 1
	}
}

// lengthUntil returns the length of a text to the end of the first closing after from, or all of it.
func lengthUntil(rest string, from int, closing string) int {
	if end := strings.Index(rest[from:], closing); end >= 0 {
		return from + end + len(closing)
	}
	return len(rest)
}

func escapedLength(rest string) int {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			return i + 1
		}
	}
	return len(rest)
}

// verbatimLength returns that of @'...', in which only a doubled quote is special.
func verbatimLength(rest string) int {
	quote := rest[1]
	for i := 2; i < len(rest); i++ {
		if rest[i] != quote {
			continue
		}
		if i+1 == len(rest) || rest[i+1] != quote {
			return i + 1
		}
		i++
	}
	return len(rest)
}

// blockLength returns that of a text block: it ends at the first line which is neither
// empty nor indented as the first one.
func blockLength(rest string) int {
	at := lengthUntil(rest, 3, "\n")
	for at < len(rest) && rest[at] == '\n' {
		at++
	}
	text := strings.TrimLeft(rest[at:], " \t")
	indent := rest[at : len(rest)-len(text)]
	for at < len(rest) && (rest[at] == '\n' || indent != "" && strings.HasPrefix(rest[at:], indent)) {
		at += lengthUntil(rest[at:], 0, "\n")
	}
	at = len(rest) - len(strings.TrimLeft(rest[at:], " \t"))
	if strings.HasPrefix(rest[at:], "|||") {
		at += 3
	}
	return max(at, 3)
}
