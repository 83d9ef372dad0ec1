package schema

import (
	"maps"
	"slices"

	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// The types that structured-merge-diff has for what is not declared: all of it is
// one value, or objects are merged and only the rest is one value.
const (
	untyped = "__untyped_atomic_"
	deduced = "__untyped_deduced_"
)

// newParser hands definitions to structured-merge-diff, in the way in which the API
// server does for its own use.
func newParser(named map[string]*Node) *typed.Parser {
	types := []schema.TypeDef{
		{Name: untyped, Atom: anything(schema.Atomic, untyped)},
		{Name: deduced, Atom: anything(schema.Separable, deduced)},
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		types = append(types, schema.TypeDef{Name: name, Atom: named[name].atom()})
	}
	return &typed.Parser{Schema: schema.Schema{Types: types}}
}

// anything is the type of any value, with objects that hold values of another such type.
func anything(objects schema.ElementRelationship, values string) schema.Atom {
	return schema.Atom{
		Scalar: new(schema.Untyped),
		List:   &schema.List{ElementType: reference(untyped), ElementRelationship: schema.Atomic},
		Map:    &schema.Map{ElementType: reference(values), ElementRelationship: objects},
	}
}

func reference(name string) schema.TypeRef { return schema.TypeRef{NamedType: &name} }

// ref names the definition that a node is, or has the node in it.
func (n *Node) ref() schema.TypeRef {
	if n.name == "" {
		return schema.TypeRef{Inlined: n.atom()}
	}
	ref := reference(n.name)
	if n.overridden {
		relation := schema.Separable
		if n.Atomic {
			relation = schema.Atomic
		}
		ref.ElementRelationship = &relation
	}
	return ref
}

func (n *Node) atom() schema.Atom {
	switch {
	case n.Form == Quantity:
		return schema.Atom{Scalar: new(schema.Untyped)}
	case n.name == rawExtensionName:
		return anything(schema.Atomic, untyped)
	}
	switch n.Type {
	case Object:
		return schema.Atom{Map: n.object()}
	case List:
		return schema.Atom{List: n.list()}
	case Number:
		return schema.Atom{Scalar: new(schema.Numeric)}
	case Boolean:
		return schema.Atom{Scalar: new(schema.Boolean)}
	case String:
		return schema.Atom{Scalar: n.text()}
	default:
		return schema.Atom{Scalar: new(schema.Untyped), List: n.list(), Map: n.object()}
	}
}

func (n *Node) text() *schema.Scalar {
	if n.formatted {
		return new(schema.Untyped)
	}
	return new(schema.String)
}

func (n *Node) object() *schema.Map {
	out := &schema.Map{}
	if n.Atomic {
		out.ElementRelationship = schema.Atomic
	}
	for _, name := range slices.Sorted(maps.Keys(n.Fields)) {
		out.Fields = append(out.Fields, schema.StructField{Name: name, Type: n.Fields[name].ref(), Default: n.Defaults[name]})
	}
	switch {
	case n.Values != nil:
		out.ElementType = n.Values.ref()
	case n.open || len(n.Fields) == 0:
		out.ElementType = reference(deduced)
	}
	return out
}

func (n *Node) list() *schema.List {
	out := &schema.List{ElementType: reference(untyped), ElementRelationship: schema.Atomic, Keys: n.Keys}
	if n.Relation == Set || n.Relation == Map {
		out.ElementRelationship = schema.Associative
	}
	if n.Items != nil {
		out.ElementType = n.Items.ref()
	}
	return out
}
