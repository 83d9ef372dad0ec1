package jsonnet

import (
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// loops are functions of std that call their first argument with the elements of their second, with what they return.
var loops = map[string]string{
	"map": "map", "filter": "filter", "flatMap": "flatMap", "$flatMapArray": "flatMap", "foldl": "fold", "mapWithIndex": "fold",
	"mapWithKey": "fold",
}

// results are the types of what functions of std return.
var results = map[string]string{
	"length": "number", "count": "number", "parseInt": "number", "floor": "number", "ceil": "number", "max": "number", "min": "number",
	"abs": "number", "toString": "string", "join": "string", "strReplace": "string", "format": "string", "asciiLower": "string",
	"asciiUpper": "string", "substr": "string", "manifestJson": "string", "manifestJsonEx": "string", "manifestYamlDoc": "string",
	"manifestJsonMinified": "string", "base64": "string", "md5": "string", "startsWith": "boolean", "endsWith": "boolean",
	"isObject": "boolean", "isString": "boolean", "isArray": "boolean", "member": "boolean",
}

// apply returns the step of a call.
func (o *outliner) apply(n *ast.Apply) *engines.OutlineStep {
	var arguments []ast.Node
	for _, a := range n.Arguments.Positional {
		arguments = append(arguments, a.Expr)
	}
	if target, ok := n.Target.(*ast.Index); ok && len(n.Arguments.Named) == 0 {
		if name := stdField(target, o.shadowed); name != "" {
			return o.standard(name, n, arguments)
		}
	}
	call := o.step(engines.OutlineCall, "", o.values(append([]ast.Node{n.Target}, arguments...)...)...)
	for _, a := range n.Arguments.Named {
		call.Parts = append(call.Parts, o.step(engines.OutlineField, string(a.Name), o.value(a.Arg)))
	}
	return call
}

// standard returns the step of a call of std.
func (o *outliner) standard(name string, n *ast.Apply, arguments []ast.Node) *engines.OutlineStep {
	all := o.values(arguments...)
	if how, ok := loops[name]; ok && len(all) > 1 {
		return engines.OutlineEach(how, all[1], all[0], all[2:]...)
	}
	if kind, ok := results[name]; ok {
		return o.step(engines.OutlineIs, kind, all...)
	}
	switch {
	case len(all) == 0:
	case name == "objectValues" || name == "objectValuesAll":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineElement, "", all...))
	case name == "objectFields" || name == "objectFieldsAll":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineIs, "string", all...))
	case name == "objectKeysValues":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineObject, "",
			o.step(engines.OutlineField, "key", o.step(engines.OutlineIs, "string")),
			o.step(engines.OutlineField, "value", o.step(engines.OutlineElement, "", all[0]))))
	case name == "prune" || name == "reverse" || len(all) == 1 && (name == "sort" || name == "set" || name == "uniq"):
		return all[0]
	case len(all) == 1:
	case name == "sort" || name == "set" || name == "uniq":
		return engines.OutlineEach("filter", all[0], all[1])
	case name == "equals" || name == "notEquals":
		return o.placed(arguments[1], engines.OutlineStrict, "", all...)
	case name == "get", name == "objectHas", name == "objectHasAll", name == "objectHasEx":
		return o.named(name, arguments, all)
	case name == "mergePatch":
		return o.placed(n, engines.OutlineMerge, "", all...)
	case name == "trace":
		return o.step(engines.OutlineSame, "", all[1], all[0])
	}
	return o.step(engines.OutlineUnknown, "", all...)
}

// named returns the step of a call of std with an object and the name of a field.
func (o *outliner) named(name string, arguments []ast.Node, all []*engines.OutlineStep) *engines.OutlineStep {
	field, ok := arguments[1].(*ast.LiteralString)
	if !ok {
		return o.step(engines.OutlineUnknown, "", all...)
	}
	member := o.placed(field, engines.OutlineMember, field.Value, all[0])
	switch {
	case name != "get":
		return o.step(engines.OutlineIs, "boolean", member)
	case len(all) > 2:
		return o.step(engines.OutlineChoice, "", member, all[2])
	}
	return member
}
