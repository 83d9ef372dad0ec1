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
		fields := d.structure(item, "name", "expression")
		if name, code := d.required(item, fields, "name"), d.required(item, fields, "expression"); name != nil && code != nil {
			d.define(name, code)
		}
	}
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

func (d *document) define(name, code *yaml.Node) {
	if !variableName.MatchString(name.Value) {
		d.addNodeErrorf(name, "a variable's name is made of letters, digits and _: %q is not", name.Value)
		return
	}
	for _, v := range d.variables {
		if v.name == name.Value {
			d.addNodeErrorf(name, "the variable %q is defined twice", name.Value)
			return
		}
	}
	compiled := d.compile(d.file.scalar(code))
	if compiled == nil {
		compiled = &expression{output: cel.DynType} // So that the error is reported only once.
	}
	v := &variable{name: name.Value, code: compiled}
	env, err := d.env.Extend(v.declaration())
	if err != nil {
		d.addNodeErrorf(name, "%v", err)
		return
	}
	d.env, d.variables = env, append(d.variables, v)
}
