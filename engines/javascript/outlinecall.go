package javascript

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"

	"github.com/libretto-k8s/libretto/engines"
)

// each are methods of lists that call a function with their elements, with what they return.
var each = map[string]string{
	"map": "map", "flatMap": "flatMap", "filter": "filter", "find": "find", "findLast": "find", "findIndex": "", "forEach": "", "some": "",
	"every": "", "reduce": "fold", "reduceRight": "fold", "sort": "filter", "toSorted": "filter",
}

// returned are the types of what methods return, and functions those of globals.
var (
	returned = map[string]string{
		"join": "string", "toString": "string", "toLowerCase": "string", "toUpperCase": "string", "trim": "string", "replace": "string",
		"replaceAll": "string", "toFixed": "string", "padStart": "string", "repeat": "string", "includes": "boolean", "startsWith": "boolean",
		"endsWith": "boolean", "indexOf": "number",
	}
	functions = map[string]string{
		"String": "string", "Number": "number", "Boolean": "boolean", "parseInt": "number", "parseFloat": "number", "JSON.stringify": "string",
		"Math.max": "number", "Math.min": "number", "Math.floor": "number", "Math.ceil": "number", "Math.round": "number",
		"Array.isArray": "boolean",
	}
)

// call returns the step of a call.
func (o *outliner) call(e *ast.CallExpression) *engines.OutlineStep {
	callee := e.Callee
	if optional, ok := callee.(*ast.Optional); ok {
		callee = optional.Expression
	}
	arguments := o.expressions(e.ArgumentList...)
	if name, ok := callee.(*ast.Identifier); ok {
		if name.Name == "__export" && len(e.ArgumentList) == 2 {
			o.export(e.ArgumentList[1])
			return o.unknown()
		}
		if s := o.global(name.Name.String(), arguments); s != nil {
			return s
		}
	}
	method, ok := callee.(*ast.DotExpression)
	if !ok {
		return o.step(engines.OutlineCall, "", append(o.expressions(callee), arguments...)...)
	}
	name := method.Identifier.Name.String()
	if global, ok := method.Left.(*ast.Identifier); ok {
		if s := o.global(global.Name.String()+"."+name, arguments); s != nil {
			return s
		}
	}
	target := o.expression(method.Left)
	if how, ok := each[name]; ok && len(arguments) > 0 {
		return engines.OutlineEach(how, target, arguments[0], arguments[1:]...)
	}
	called := o.placed(method.Identifier.Idx, engines.OutlineMethod, name, target)
	all := append([]*engines.OutlineStep{target}, arguments...)
	switch name {
	case "slice", "reverse", "toReversed", "sort", "toSorted":
		return o.step(engines.OutlineSame, "", all...)
	case "concat":
		return o.step(engines.OutlineChoice, "", all...)
	case "at", "pop", "shift":
		return o.step(engines.OutlineElement, "", all...)
	case "flat":
		return o.spread(o.step(engines.OutlineElement, "", target))
	}
	if kind, ok := returned[name]; ok {
		return o.step(engines.OutlineIs, kind, append(arguments, called)...)
	}
	return o.step(engines.OutlineCall, "", append([]*engines.OutlineStep{called}, arguments...)...)
}

// spread returns a list with the elements of another one.
func (o *outliner) spread(s *engines.OutlineStep) *engines.OutlineStep {
	return o.step(engines.OutlineList, "", o.step(engines.OutlineSpread, "", s))
}

// global returns the step of a call of a global function, or nil.
func (o *outliner) global(name string, arguments []*engines.OutlineStep) *engines.OutlineStep {
	if kind, ok := functions[name]; ok {
		return o.step(engines.OutlineIs, kind, arguments...)
	}
	if len(arguments) == 0 {
		return nil
	}
	value := o.step(engines.OutlineElement, "", arguments[0])
	switch name {
	case "Object.values":
		return o.step(engines.OutlineList, "", value)
	case "Object.keys":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineIs, "string", arguments...))
	case "Object.entries":
		return o.step(engines.OutlineList, "", o.step(engines.OutlineObject, "",
			o.step(engines.OutlineField, "0", o.step(engines.OutlineIs, "string")), o.step(engines.OutlineField, "1", value)))
	case "Object.freeze", "structuredClone":
		return arguments[0]
	case "Object.assign":
		return o.assignAll(arguments)
	}
	return nil
}

// assignAll returns the step of Object.assign: a new object, and assignments to the fields of literals.
func (o *outliner) assignAll(arguments []*engines.OutlineStep) *engines.OutlineStep {
	all := o.step(engines.OutlineObject, "")
	result := o.step(engines.OutlineSame, "", all)
	for i, from := range arguments {
		all.Parts = append(all.Parts, o.step(engines.OutlineSpread, "", from))
		for _, field := range from.Parts {
			if i > 0 && field.Op == engines.OutlineField {
				target := o.step(engines.OutlineMember, field.Text, arguments[0])
				result.Parts = append(result.Parts, o.step(engines.OutlineAssign, "", target, o.unknown()))
			}
		}
	}
	return result
}

// export adds what esbuild writes of the exports of a module, an object of functions that return them.
func (o *outliner) export(e ast.Expression) {
	for _, field := range o.expression(e).Parts {
		value := field.Part(0).Part(0).Part(0).Part(0) // Of a function that consists of one return.
		if export := o.step(engines.OutlineExport, field.Text, value); field.At.File == o.entry {
			o.exported = append(o.exported, export)
		}
	}
}

// assign returns the step of an assignment. One to exports is an export.
func (o *outliner) assign(e *ast.AssignExpression) *engines.OutlineStep {
	value := o.expression(e.Right)
	if e.Operator != token.ASSIGN {
		value = o.unknown(value)
	}
	target := o.expression(e.Left)
	of := target.Part(0)
	isModule := of.Op == engines.OutlineName && of.Text == "module" && target.Text == "exports"
	isExports := of.Op == engines.OutlineName && of.Text == "exports" || of.Text == "exports" && of.Part(0).Text == "module"
	switch {
	case target.Op != engines.OutlineMember || target.At.File != o.entry:
	case isExports:
		return o.step(engines.OutlineExport, target.Text, value)
	case isModule && value.Op != engines.OutlineName:
		return o.step(engines.OutlineExport, "", value)
	}
	return o.step(engines.OutlineSame, "", append([]*engines.OutlineStep{value}, o.pattern(engines.OutlineAssign, e.Left, value)...)...)
}
