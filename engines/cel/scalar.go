package cel

import (
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlFile is a YAML file with its lines at hand.
type yamlFile struct {
	path  string
	lines [][]rune
}

func newYAMLFile(path, content string) *yamlFile {
	f := &yamlFile{path: path}
	for line := range strings.SplitSeq(content, "\n") {
		f.lines = append(f.lines, []rune(strings.TrimSuffix(line, "\r")))
	}
	return f
}

// scalar returns the value of a scalar, with the places of its characters. What YAML
// changes between source and value is white space and escapes, so the other
// characters are found one after the other. A white one is placed where the next
// character of the source is.
func (f *yamlFile) scalar(node *yaml.Node) sourceText {
	t := sourceText{file: f.path, runes: []rune(node.Value)}
	c := &cursor{lines: f.lines, at: position{node.Line, node.Column}, style: node.Style}
	c.enter()
	for _, r := range t.runes {
		if white(r) {
			t.places = append(t.places, c.at)
			c.skipIfWhite()
			continue
		}
		at := c.next()
		t.places = append(t.places, at)
	}
	t.places = append(t.places, c.at)
	return t
}

// cursor goes through the source of a scalar.
type cursor struct {
	lines [][]rune
	at    position
	style yaml.Style
}

func white(r rune) bool {
	return strings.ContainsRune(" \t\n\r\u0085\u2028\u2029", r)
}

// peek returns the character at the cursor, '\n' at the end of a line, and 0 at that of the file.
func (c *cursor) peek() rune {
	if c.at.line > len(c.lines) {
		return 0
	}
	line := c.lines[c.at.line-1]
	if c.at.column > len(line) {
		return '\n'
	}
	return line[c.at.column-1]
}

func (c *cursor) step() {
	if c.peek() == '\n' {
		c.at = position{c.at.line + 1, 1}
		return
	}
	c.at.column++
}

func (c *cursor) skipWhite() {
	for white(c.peek()) {
		c.step()
	}
}

// skipIfWhite goes over one white character of a line, so that those within texts
// have their own places. Ends of lines are left to skipWhite.
func (c *cursor) skipIfWhite() {
	if r := c.peek(); white(r) && r != '\n' {
		c.step()
	}
}

// enter goes to the first character of the value: past tag and anchor, the quote,
// or the header of a block.
func (c *cursor) enter() {
	for c.peek() == '&' || c.peek() == '!' {
		for r := c.peek(); r != 0 && !white(r); r = c.peek() {
			c.step()
		}
		c.skipWhite()
	}
	switch {
	case c.style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		c.at = position{c.at.line + 1, 1}
	case c.style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		c.step()
	}
}

// next returns the place of the next character that is not white, and goes past it.
func (c *cursor) next() position {
	for {
		c.skipWhite()
		at, blank := c.at, false
		switch {
		case c.peek() == 0:
			return at
		case c.style&yaml.DoubleQuotedStyle != 0 && c.peek() == '\\':
			blank = c.escape()
		case c.style&yaml.SingleQuotedStyle != 0 && c.peek() == '\'':
			c.step()
			c.step()
		default:
			c.step()
		}
		if !blank {
			return at
		}
	}
}

// escape goes past an escape of a double-quoted scalar, and reports whether it stands for white space.
func (c *cursor) escape() bool {
	c.step()
	kind := c.peek()
	c.step()
	value := rune(0)
	for range hexDigits(kind) {
		value = value<<4 | rune(strings.IndexRune("0123456789abcdef", c.peek()|0x20))
		c.step()
	}
	return strings.ContainsRune(" \t\n\rtnrNLP", kind) || white(value)
}

// hexDigits returns how many follow the escape of that letter.
func hexDigits(kind rune) int {
	switch kind {
	case 'x':
		return 2
	case 'u':
		return 4
	case 'U':
		return 8
	default:
		return 0
	}
}
