package cel

import (
	"regexp"

	"github.com/google/cel-go/cel"
	"go.yaml.in/yaml/v3"
)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// defineAll compiles variables, each for those that follow. y may be nil.
func (d *document) defineAll(y *yaml.Node) {
	if y == nil {
		return
	}
	y = resolveAlias(y)
	if y.Kind != yaml.SequenceNode {
		d.addNodeErrorf(y, "variables must be a list of {name, expression}")
		return
	}
	for _, item := range y.Content {
		d.defineOne(item, d.structure(item, "name", "expression", "value"))
	}
}

func (d *document) defineOne(item *yaml.Node, fields map[string]*yaml.Node) {
	name := d.required(item, fields, "name")
	switch value := fields["value"]; {
	case value != nil && fields["expression"] != nil:
		d.addNodeErrorf(value, "value and expression exclude each other: a value is an object or a list as responses have it")
	case value != nil && name != nil:
		compiled, output := d.value(value)
		v := &variable{name: name.Value, value: compiled, output: output}
		if d.src.Script.Outline && len(d.problems) == 0 {
			v.outline = d.outlined(value)
		}
		d.define(name, v)
	case value == nil:
		if code := d.required(item, fields, "expression"); name != nil && code != nil {
			d.defineExpression(name, code)
		}
	}
}

// value compiles an object or a list as responses have it, and returns its type.
func (d *document) value(y *yaml.Node) (node, *cel.Type) {
	n, output := d.single(y), anyObject
	switch resolveAlias(y).Kind {
	case yaml.MappingNode:
	case yaml.SequenceNode:
		output = cel.ListType(cel.DynType)
	default:
		d.addNodeErrorf(y, "value must be an object or a list: anything else is an expression")
	}
	if _, ok := n.(*guarded); ok {
		output = cel.OptionalType(output)
	}
	return n, output
}

func (d *document) required(item *yaml.Node, fields map[string]*yaml.Node, name string) *yaml.Node {
	y := fields[name]
	if y == nil {
		d.addNodeErrorf(item, "%s is required", name)
		return nil
	}
	y = resolveAlias(y)
	if y.Kind != yaml.ScalarNode {
		d.addNodeErrorf(y, "%s must be a text", name)
		return nil
	}
	return y
}

func (d *document) defineExpression(name, code *yaml.Node) {
	compiled := d.compile(d.file.scalar(code))
	if compiled == nil {
		compiled = &expression{output: cel.DynType} // So that the error is reported only once.
	}
	d.define(name, &variable{name: name.Value, code: compiled, output: compiled.output})
}

// define makes a variable known, unless its name is wrong.
func (d *document) define(name *yaml.Node, v *variable) {
	if !variableName.MatchString(name.Value) {
		d.addNodeErrorf(name, "a variable's name is made of letters, digits and _: %q is not", name.Value)
		return
	}
	for _, known := range d.variables {
		if known.name == name.Value {
			d.addNodeErrorf(name, "the variable %q is defined twice", name.Value)
			return
		}
	}
	env, err := d.env.Extend(v.declaration())
	if err != nil {
		d.addNodeErrorf(name, "%v", err)
		return
	}
	d.env, d.variables = env, append(d.variables, v)
}
