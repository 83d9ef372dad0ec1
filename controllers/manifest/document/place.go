package document

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// At returns an object that has no text of its own, such as one that was generated. All its fields are at one location.
func At(o *Object, at engines.Location) *Object {
	return &Object{Unstructured: o.Unstructured, Location: at}
}

// WithPlaces returns the object with the places of another, from which it was made.
func (o *Object) WithPlaces(of *Object) *Object {
	return &Object{Unstructured: o.Unstructured, Location: of.Location, root: of.root, part: of.part}
}

// Place returns where a field is, as field.Path writes it: spec.hooks.sync, spec.childResources[1], data[sync.js]. That is
// where its value begins, or the line before with its name. For a field that the object does not have, it returns the place
// of the innermost one that it has.
func (o *Object) Place(field string) engines.Location {
	if o.root == nil {
		return o.Location
	}
	node, key := find(o.root, field)
	if key != nil && key.Line != node.Line {
		node = key
	}
	return o.part.place(node)
}

// PlaceIn returns where a line and a column of a field's text are, counted from 1. If the lines of the text are not lines of
// the file, it returns where the text begins.
func (o *Object) PlaceIn(field string, line, column int) engines.Location {
	if o.root == nil || line == 0 {
		return o.Place(field)
	}
	node := resolve(lookup(o.root, field))
	at := o.part.place(node)
	if node.Style&yaml.LiteralStyle == 0 {
		return at
	}
	at.Line += line
	at.Column = 0
	if column > 0 {
		at.Column = o.part.indentation(node) + column
	}
	return at
}

// indentation returns by how much the lines of a literal block are indented.
func (p part) indentation(node *yaml.Node) int {
	lines := strings.Split(string(p.text), "\n")
	for i, value := range strings.Split(node.Value, "\n") {
		if strings.TrimSpace(value) != "" && node.Line+i < len(lines) {
			return strings.Index(lines[node.Line+i], strings.TrimSuffix(value, "\r"))
		}
	}
	return 0
}

// lookup returns the node of a field, or the innermost one that there is.
func lookup(node *yaml.Node, field string) *yaml.Node {
	node, _ = find(node, field)
	return node
}

// find returns the node of a field, or the innermost one that there is, and the node of its name, if it has one.
func find(node *yaml.Node, field string) (found, key *yaml.Node) {
	for field = strings.TrimPrefix(field, "."); field != ""; field = strings.TrimPrefix(field, ".") {
		next, name, rest := step(resolve(node), field)
		if next == nil {
			break
		}
		node, key, field = next, name, rest
	}
	return node, key
}

func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// step returns the node that the first element of a path names, the node of its name, and the rest of the path.
func step(node *yaml.Node, field string) (next, key *yaml.Node, rest string) {
	switch node.Kind {
	case yaml.SequenceNode:
		number, rest, found := strings.Cut(strings.TrimPrefix(field, "["), "]")
		i, err := strconv.Atoi(number)
		if !found || err != nil || i < 0 || i >= len(node.Content) {
			return nil, nil, ""
		}
		return node.Content[i], nil, rest
	case yaml.MappingNode:
		return stepInto(node, field)
	default:
		return nil, nil, ""
	}
}

// stepInto returns the value with the longest key that a path begins with: keys may contain dots.
func stepInto(node *yaml.Node, field string) (found, key *yaml.Node, rest string) {
	longest := -1
	for i := 0; i+1 < len(node.Content); i += 2 {
		name := node.Content[i]
		if after, ok := strings.CutPrefix(field, "["+name.Value+"]"); ok {
			return node.Content[i+1], name, after
		}
		after, ok := strings.CutPrefix(field, name.Value)
		if ok && len(name.Value) > longest && (after == "" || after[0] == '.' || after[0] == '[') {
			longest, found, key, rest = len(name.Value), node.Content[i+1], name, after
		}
	}
	return found, key, rest
}

// PlaceOf returns where a field of a file's first document is, or no line if that is unknown.
func PlaceOf(file string, text []byte, field string) engines.Location {
	parts, problem := split(file, text)
	if problem != nil || len(parts) == 0 {
		return engines.Location{File: file}
	}
	root, problem := parts[0].parse()
	if problem != nil || root == nil {
		return engines.Location{File: file}
	}
	return parts[0].place(lookup(root, field))
}
