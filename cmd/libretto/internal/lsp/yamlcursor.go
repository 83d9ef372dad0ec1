package lsp

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// yamlCursor is where a place in a YAML text is.
type yamlCursor struct {
	apiVersion, kind string
	// path are the fields around the place, with [] for the items of a list. In a value its own field is the last one.
	path []string
	// isValue is whether a value stands at the place, and not the name of a field. What is first in an item of a list may be either.
	isValue bool
	// word is what is written of it, from the byte start of the line.
	word  string
	start int
	// beside are the values of fields that stand before it in the same object, as far as they are words.
	beside map[string]string
}

var headerOf = regexp.MustCompile(`^(apiVersion|kind):\s*["']?([^\s"'#]+)`)

// cursorAt returns where a byte of a line is, or false within a block scalar or a comment, or below what is no YAML. A text is seldom
// valid while it is typed, but up to the place it is, with a word there and an end to what is open.
func cursorAt(lines text, line, column int) (yamlCursor, bool) {
	line = min(line, len(lines)-1)
	first := line
	for first > 0 && !strings.HasPrefix(lines[first], "---") {
		first--
	}
	c := yamlCursor{}
	for i := first; i < len(lines) && (i <= line || !strings.HasPrefix(lines[i], "---")); i++ {
		if match := headerOf.FindStringSubmatch(lines[i]); match != nil && match[1] == "kind" {
			c.kind = match[2]
		} else if match != nil {
			c.apiVersion = match[2]
		}
	}
	column = min(column, len(lines[line]))
	before := strings.Join(slices.Concat(lines[first:line], text{lines[line][:column]}), "\n")
	root := parseOpen(before + placeholder)
	if root == nil {
		root = parseOpen(before + placeholder + ":")
	}
	if root == nil || !c.find(root) {
		return c, false
	}
	c.start = max(0, column-len(c.word))
	return c, true
}

// maxOpen is how many braces, brackets and quotes are ended.
const maxOpen = 20

// endings are what a text lacks at its end, by what the parser says.
var endings = map[string]string{"expected ',' or '}'": "}", "expected ',' or ']'": "]", "unexpected end of stream": `"`}

// parseOpen parses a text whose braces, brackets and quotes may be open at its end. It returns nil for one that is no YAML.
func parseOpen(text string) *yaml.Node {
	for range maxOpen {
		root := &yaml.Node{}
		err := yaml.Unmarshal([]byte(text), root)
		if err == nil {
			return root
		}
		before := text
		for problem, ending := range endings {
			if strings.HasSuffix(err.Error(), problem) {
				text += ending
			}
		}
		if text == before {
			return nil
		}
	}
	return nil
}

// find finds the place of the placeholder in a node, and reports whether it is there. A word below its field may be the name of another.
func (c *yamlCursor) find(node *yaml.Node) bool {
	switch node.Kind {
	case yaml.DocumentNode:
		return len(node.Content) > 0 && c.find(node.Content[0])
	case yaml.SequenceNode:
		i := slices.IndexFunc(node.Content, c.find)
		if i < 0 {
			return false
		}
		if node.Content[i].Kind == yaml.ScalarNode {
			c.isValue = node.Style&yaml.FlowStyle != 0
		}
		c.path = slices.Insert(c.path, 0, "[]")
		return true
	case yaml.MappingNode:
		return c.findField(node)
	case yaml.ScalarNode:
		found := false
		c.word, _, found = strings.Cut(node.Value, placeholder)
		return found && node.Style&(yaml.LiteralStyle|yaml.FoldedStyle) == 0
	}
	return false
}

// findField finds the place in an object.
func (c *yamlCursor) findField(object *yaml.Node) bool {
	beside := map[string]string{}
	for i := 0; i+1 < len(object.Content); i += 2 {
		key, value := object.Content[i], object.Content[i+1]
		switch isKey := c.find(key); {
		case !isKey && !c.find(value):
			beside[key.Value] = value.Value
			continue
		case !isKey:
			c.path = slices.Insert(c.path, 0, key.Value)
			c.isValue = c.isValue || value.Kind == yaml.ScalarNode && value.Line == key.Line
		}
		if c.beside == nil {
			c.beside = beside
		}
		return true
	}
	return false
}
