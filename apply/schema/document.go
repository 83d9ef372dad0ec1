package schema

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Definitions that stand for more than their schema says.
const (
	quantityName     = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	rawExtensionName = "io.k8s.apimachinery.pkg.runtime.RawExtension"
	intOrStringName  = "io.k8s.apimachinery.pkg.util.intstr.IntOrString"
)

// document is what is kept of an OpenAPI document: its kinds, and the definitions
// that they are made of.
type document struct {
	kinds map[schema.GroupVersionKind]*Kind
	named map[string]*Node
}

// Parse reads an OpenAPI v3 document, and returns its kinds.
func Parse(text []byte) (map[schema.GroupVersionKind]*Kind, error) {
	d, err := parse(text)
	if err != nil {
		return nil, err
	}
	return d.kinds, nil
}

func parse(text []byte) (*document, error) {
	var openAPI struct {
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &openAPI); err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", err)
	}
	d := &document{kinds: map[schema.GroupVersionKind]*Kind{}, named: map[string]*Node{}}
	c := compiler{schemas: openAPI.Components.Schemas, named: d.named}
	for name := range c.schemas {
		for _, kind := range c.kinds(name) {
			d.kinds[schema.GroupVersionKind(kind)] = &Kind{Root: c.definition(name), digest: digestOf(c.schemas[name])}
		}
	}
	if c.err != nil {
		return nil, fmt.Errorf("OpenAPI document: %w", c.err)
	}
	c.finish()
	return d, nil
}

// keep has d go on with those kinds of an earlier document that are as they were, so that
// only what has changed is another.
func (d *document) keep(earlier *document) {
	if earlier == nil {
		return
	}
	for name, kind := range d.kinds {
		if before := earlier.kinds[name]; before != nil && before.digest == kind.digest && reflect.DeepEqual(before.Root, kind.Root) {
			d.kinds[name] = before
		}
	}
}

// digestOf stands for the text of a definition, but for those that it refers to.
func digestOf(text []byte) [sha256.Size]byte { return sha256.Sum256(text) }

// compiler makes nodes of definitions.
type compiler struct {
	schemas map[string]json.RawMessage
	named   map[string]*Node
	// copies are made when everything they are made of is there.
	copies []copied
	err    error
}

// copied is a definition that is used with something added to it.
type copied struct {
	to, from *Node
	use      definition
}

// kinds returns the kinds of which a definition is the schema. Options, events and the
// like are shared by all groups, and are no objects.
func (c *compiler) kinds(name string) []kindName {
	var d struct {
		Kinds      []kindName `json:"x-kubernetes-group-version-kind"`
		Properties struct {
			Metadata json.RawMessage `json:"metadata"`
		} `json:"properties"`
	}
	c.read(name, &d)
	if d.Properties.Metadata == nil {
		return nil
	}
	return d.Kinds
}

func (c *compiler) read(name string, into any) {
	if err := json.Unmarshal(c.schemas[name], into); err != nil && c.err == nil {
		c.err = fmt.Errorf("%s: %w", name, err)
	}
}

// definition returns the node of a definition, which may be under way.
func (c *compiler) definition(name string) *Node {
	if node, ok := c.named[name]; ok {
		return node
	}
	node := &Node{name: name}
	c.named[name] = node
	if _, there := c.schemas[name]; !there {
		return node
	}
	var d definition
	c.read(name, &d)
	switch name {
	case quantityName:
		node.Form = Quantity
	case intOrStringName:
		node.IntOrString = true
	case rawExtensionName:
	default:
		c.fill(node, &d, false)
	}
	return node
}

// node returns the node of a schema within another.
func (c *compiler) node(d *definition, open bool) *Node {
	name := d.ref()
	if name == "" {
		node := &Node{}
		c.fill(node, d, open)
		return share(node)
	}
	node := c.definition(name)
	if d.MapType == "" && !d.strategy("retainKeys") {
		return node
	}
	c.copies = append(c.copies, copied{to: &Node{}, from: node, use: *d})
	return c.copies[len(c.copies)-1].to
}

func (c *compiler) fill(node *Node, d *definition, open bool) {
	node.open = open || d.Preserve
	node.Form, node.Secret, node.Nullable = d.form(), d.Format == "password", d.Nullable
	switch d.Type {
	case "object":
		node.Type = Object
		c.object(node, d)
	case "array":
		node.Type = List
		c.list(node, d)
	case "string":
		node.Type, node.formatted = String, d.Format != "" && d.Format != "byte"
	case "integer", "number":
		node.Type = Number
	case "boolean":
		node.Type = Boolean
	default:
		node.IntOrString = d.IntOrString
		c.object(node, d)
		c.list(node, d)
	}
}

func (c *compiler) object(node *Node, d *definition) {
	node.Atomic, node.Retains = d.MapType == "atomic", d.strategy("retainKeys")
	node.Prunes, node.Defaults = d.prunes(), d.defaults()
	if len(d.Properties) > 0 {
		node.Fields = make(map[string]*Node, len(d.Properties))
	}
	for name, property := range d.Properties {
		node.Fields[name] = c.node(&property, node.open)
	}
	if more := d.AdditionalProperties; more != nil && more.schema != nil {
		node.Values = c.node(more.schema, node.open)
	} else if more != nil {
		node.open = node.open || more.allows
	}
}

func (c *compiler) list(node *Node, d *definition) {
	node.Relation, node.Keys = d.relation()
	node.Retains = node.Retains || d.strategy("retainKeys")
	if d.Items != nil {
		node.Items = c.node(d.Items, node.open)
	}
}

// finish makes the copies.
func (c *compiler) finish() {
	for _, copy := range c.copies {
		*copy.to = *copy.from
		copy.to.Retains = copy.to.Retains || copy.use.strategy("retainKeys")
		if copy.use.MapType != "" {
			copy.to.Atomic, copy.to.overridden = copy.use.MapType == "atomic", true
		}
	}
}

// The scalars of which nothing more is known are most of all nodes.
var plain = map[Type]*Node{String: {Type: String}, Number: {Type: Number}, Boolean: {Type: Boolean}}

// share returns one node for all that are the same plain scalar.
func share(node *Node) *Node {
	if shared, ok := plain[node.Type]; ok && node.Form == AsGiven && !node.formatted && !node.Nullable {
		return shared
	}
	return node
}
