package cel

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// directive is a key of a mapping that is no field of it. No expression reads like that, so that neither can be the name of a field.
type directive struct {
	key        *regexp.Regexp
	name, want string
	kinds      []types.Kind
}

// directives are the keys ${forEach NAME} and ${if}, which is asked for each element.
var directives = []*directive{
	{regexp.MustCompile(`^\$\{\s*forEach\b\s*([^}]*?)\s*\}$`), "${forEach}", "a list or a map", []types.Kind{types.ListKind, types.MapKind}},
	{regexp.MustCompile(`^\$\{\s*if\s*()\}$`), "${if}", "true or false", []types.Kind{types.BoolKind}},
}

// operand is the expression of a directive.
type operand struct {
	*hole
	directive *directive
}

// guarded is a part that is there only if a condition is true.
type guarded struct {
	condition *operand
	then      node
}

// repeated is an item of a list that is there once for each element of another, or for each key of a map, as in CEL's own macros.
type repeated struct {
	name string
	over *operand
	body node
}

// loop is what a name stands for while a part is repeated.
type loop struct {
	name  string
	value ref.Val
}

// use is a directive in a mapping.
type use struct {
	*directive
	at, operand *yaml.Node
	// name is that of the element, if the directive has one.
	name string
	// rest is the mapping without the directive.
	rest *yaml.Node
}

// repeats reports whether it is ${forEach}.
func (of *directive) repeats() bool { return of == directives[0] }

// firstDirective returns the directive of a mapping that is asked before its others, or nil.
func firstDirective(y *yaml.Node) *use {
	for _, known := range directives {
		for i := 0; i < len(y.Content); i += 2 {
			if found := known.key.FindStringSubmatch(resolveAlias(y.Content[i]).Value); found != nil {
				rest := *y
				rest.Content = slices.Concat(y.Content[:i], y.Content[i+2:])
				return &use{directive: known, at: y.Content[i], operand: y.Content[i+1], name: found[1], rest: &rest}
			}
		}
	}
	return nil
}

// directed compiles a mapping that has a directive. It reports false if it has none.
func (d *document) directed(y *yaml.Node) (node, bool) {
	u := firstDirective(y)
	if u == nil {
		return nil, false
	}
	x := d.operand(u.directive, u.operand)
	if u.repeats() {
		return d.loop(u.at, u.name, x, u.rest), true
	}
	return &guarded{x, d.mapping(u.rest)}, true
}

// operand compiles the expression of a directive, which is then of a type that the directive takes.
func (d *document) operand(of *directive, y *yaml.Node) *operand {
	before := len(d.problems)
	h, ok := d.skeleton(y).(*hole)
	if len(d.problems) > before {
		return nil
	}
	if !ok {
		d.addNodeErrorf(y, "%s takes one expression that gives %s: ${...}", of.name, of.want)
		return nil
	}
	if kind := present(h.code.output).Kind(); kind != types.DynKind && !slices.Contains(of.kinds, kind) {
		d.addError(h.code.code.at(0), of.wrongType(cel.FormatCELType(h.code.output)))
	}
	return &operand{h, of}
}

func (of *directive) wrongType(name string) string {
	return fmt.Sprintf("gives a value of type %s: %s takes %s", name, of.name, of.want)
}

// present returns the type of an optional's value, or the type itself.
func present(t *cel.Type) *cel.Type {
	if t.TypeName() == types.OptionalType.TypeName() && len(t.Parameters()) == 1 {
		return t.Parameters()[0]
	}
	return t
}

// loop compiles a part in which the elements have a name.
func (d *document) loop(key *yaml.Node, name string, over *operand, body *yaml.Node) node {
	if !variableName.MatchString(name) {
		d.addNodeErrorf(key, "write ${forEach NAME}, with a name of letters, digits and _ for the element")
		return nil
	}
	for _, known := range d.env.Variables() {
		if known.Name() == name {
			d.addNodeErrorf(key, "%s is something else here: give the element another name", name)
			return nil
		}
	}
	if over == nil {
		return nil
	}
	element := cel.DynType
	if parameters := present(over.code.output).Parameters(); len(parameters) > 0 {
		element = parameters[0]
	}
	env, err := d.env.Extend(cel.Variable(name, element))
	if err != nil {
		d.addNodeErrorf(key, "%v", err)
		return nil
	}
	defer func(outer *cel.Env, anchored map[*yaml.Node]node) { d.env, d.anchored = outer, anchored }(d.env, d.anchored)
	// What an alias stands for within the loop may have the name in it.
	d.env, d.anchored = env, maps.Clone(d.anchored)
	return &repeated{name: name, over: over, body: d.mapping(body)}
}

// value evaluates the expression. It returns nil for an optional without a value.
func (x *operand) value(r *rendering) (ref.Val, error) {
	v, failure := r.call.evaluate(x.code, r.where(""))
	if failure != nil {
		return nil, failure
	}
	if optional, ok := v.(*types.Optional); ok {
		if !optional.HasValue() {
			return nil, nil
		}
		v = optional.GetValue()
	}
	if t, ok := v.Type().(*cel.Type); !ok || !slices.Contains(x.directive.kinds, t.Kind()) {
		message := x.directive.wrongType(v.Type().TypeName())
		return nil, withFrame(&engines.Error{Kind: engines.Failed, Message: message}, x.code.code.at(0), r.where(""))
	}
	return v, nil
}

func (n *guarded) render(r *rendering) (any, bool, error) {
	if v, err := n.condition.value(r); err != nil || v != types.True {
		return nil, false, err
	}
	return n.then.render(r)
}

// render implements node. It is for no place but a list, which asks for items.
func (n *repeated) render(*rendering) (any, bool, error) { return nil, false, nil }

// items adds what an item of a list stands for to out.
func (r *rendering) items(item node, out *[]any) error {
	n, ok := item.(*repeated)
	if !ok {
		return r.element(out, func() (any, bool, error) { return item.render(r) })
	}
	v, err := n.over.value(r)
	if v == nil {
		return err
	}
	outer := r.call.loops
	defer func() { r.call.loops = outer }()
	for it := v.(traits.Iterable).Iterator(); it.HasNext() == types.True; {
		r.call.spent += elementCost // The next evaluation finds whether that is too much.
		r.call.loops = append(outer[:len(outer):len(outer)], loop{n.name, it.Next()})
		if err := r.items(n.body, out); err != nil {
			return err
		}
	}
	return nil
}
