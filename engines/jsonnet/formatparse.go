package jsonnet

import "strings"

const (
	// absent is the precision of a code without one.
	absent = -1
	// fromValues is a width or precision that is given as a value, by a *.
	fromValues = -2
	// maxSize bounds widths and precisions: std.format recurses for each character.
	maxSize = 256
)

// code is a part of a format: how one value is formatted, or a text between two such.
type code struct {
	// kind is the letter, in lower case: d o x e f g c s, or % for a percent
	// sign. It is 0 for text.
	kind byte
	text string
	// source is the code as it was written.
	source string

	key   string
	keyed bool

	alternate, zero, left, blank, plus, capitals bool
	width, precision                             int
}

// values returns how many values the code takes.
func (c code) values() int {
	n := 0
	for _, given := range []bool{c.width == fromValues, c.precision == fromValues, c.kind != 0 && c.kind != '%'} {
		if given {
			n++
		}
	}
	return n
}

// parseFormat reads a format. It is not ok if std.format has to say what is wrong,
// or would not look at one of the values.
func parseFormat(given any) (codes []code, ok bool) {
	rest, ok := given.(string)
	for ok && rest != "" {
		text, after, more := strings.Cut(rest, "%")
		if text != "" {
			codes = append(codes, code{text: text})
		}
		if !more {
			break
		}
		p := parser{rest: after, ok: true}
		c := p.code()
		c.source = "%" + after[:len(after)-len(p.rest)]
		codes = append(codes, c)
		rest, ok = p.rest, p.ok
	}
	return codes, ok
}

// parser reads one code, after its percent sign.
type parser struct {
	rest string
	ok   bool
}

func (p *parser) code() code {
	c := code{precision: absent}
	if p.accept("(") {
		c.key, p.rest, c.keyed = strings.Cut(p.rest, ")")
		p.ok = c.keyed
	}
	p.flags(&c)
	c.width = p.size()
	if p.accept(".") {
		c.precision = p.size()
	}
	if !p.accept("h") && !p.accept("l") {
		p.accept("L")
	}
	p.letter(&c)
	if c.precision == fromValues && strings.IndexByte("sc%", c.kind) >= 0 {
		p.ok = false
	}
	return c
}

func (p *parser) accept(prefix string) bool {
	after, ok := strings.CutPrefix(p.rest, prefix)
	p.rest = after
	return ok
}

func (p *parser) flags(c *code) {
	for p.rest != "" && c.flag(p.rest[0]) {
		p.rest = p.rest[1:]
	}
}

// flag sets a flag, and reports whether the character is one.
func (c *code) flag(character byte) bool {
	switch character {
	case '#':
		c.alternate = true
	case '0':
		c.zero = true
	case '-':
		c.left = true
	case ' ':
		c.blank = true
	case '+':
		c.plus = true
	default:
		return false
	}
	return true
}

// size reads digits, of which none are zero, or a *.
func (p *parser) size() int {
	if p.accept("*") {
		return fromValues
	}
	n := 0
	for p.rest != "" && p.rest[0] >= '0' && p.rest[0] <= '9' {
		n = min(n*10+int(p.rest[0]-'0'), maxSize+1)
		p.rest = p.rest[1:]
	}
	p.ok = p.ok && n <= maxSize
	return n
}

func (p *parser) letter(c *code) {
	if p.rest == "" {
		p.ok = false
		return
	}
	switch letter := p.rest[0]; letter {
	case 'd', 'i', 'u':
		c.kind = 'd'
	case 'o', 'x', 'e', 'f', 'g', 'c', 's', '%':
		c.kind = letter
	case 'X', 'E', 'F', 'G':
		c.kind, c.capitals = letter+'a'-'A', true
	default:
		p.ok = false
	}
	p.rest = p.rest[1:]
}
