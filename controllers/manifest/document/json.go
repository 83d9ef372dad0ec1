package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// decoder reads JSON tokens.
type decoder struct {
	*json.Decoder
	text []byte
	// line and lineStart are of offset, which only grows.
	line, lineStart, offset int
}

func newDecoder(text []byte) *decoder {
	d := &decoder{Decoder: json.NewDecoder(bytes.NewReader(text)), text: text, line: 1}
	d.UseNumber()
	return d
}

// skip reads one value.
func (d *decoder) skip() error {
	var raw json.RawMessage
	return d.Decode(&raw)
}

// parseJSON returns the tree of a JSON document.
func (p part) parseJSON() (*yaml.Node, *Error) {
	node, err := newDecoder(p.text).node(0)
	if err != nil {
		return nil, p.syntaxError(err)
	}
	return node, nil
}

// node reads a value as a YAML node with its place.
func (d *decoder) node(depth int) (*yaml.Node, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, fmt.Errorf("is nested deeper than %d", maxDepth)
	}
	node := &yaml.Node{Kind: yaml.ScalarNode}
	node.Line, node.Column = d.place(token)
	switch token := token.(type) {
	case json.Delim:
		node.Kind, node.Tag = yaml.MappingNode, "!!map"
		if token == '[' {
			node.Kind, node.Tag = yaml.SequenceNode, "!!seq"
		}
		return node, d.content(node, depth)
	case string:
		node.Tag, node.Value, node.Style = "!!str", token, yaml.DoubleQuotedStyle
	case nil:
		node.Tag = "!!null"
	case bool:
		node.Tag, node.Value = "!!bool", fmt.Sprint(token)
	default:
		node.Tag, node.Value = "!!float", fmt.Sprint(token)
	}
	return node, nil
}

// content reads what a list or an object holds, and its end.
func (d *decoder) content(node *yaml.Node, depth int) error {
	for d.More() {
		inner, err := d.node(depth + 1)
		if err != nil {
			return err
		}
		node.Content = append(node.Content, inner)
	}
	_, err := d.Token()
	return err
}

// place returns line and column of the token that was read last.
func (d *decoder) place(token json.Token) (line, column int) {
	end := int(d.InputOffset())
	start := d.offset
	for start < end && bytes.IndexByte([]byte(" \t\r\n,:"), d.text[start]) >= 0 {
		start++
	}
	for i := d.offset; i < start; i++ {
		if d.text[i] == '\n' {
			d.line, d.lineStart = d.line+1, i+1
		}
	}
	d.offset = end
	if _, isDelimiter := token.(json.Delim); isDelimiter {
		d.offset = start + 1
	}
	return d.line, utf8.RuneCount(d.text[d.lineStart:start]) + 1
}
