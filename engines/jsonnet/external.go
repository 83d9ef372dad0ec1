package jsonnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"
)

// externalVariables returns what std.extVar gives: the fields of script.parameters, if that is an
// object. Each is evaluated when it is needed.
func externalVariables(parameters any) map[string]ast.Node {
	fields, _ := parameters.(map[string]any)
	values := make(map[string]ast.Node, len(fields))
	for name := range fields {
		values[name] = prelude(fmt.Sprintf("std.native('$field')(%s)[%s]", quoted(parametersField), quoted(name)))
	}
	return values
}

// unknownExternal returns the error of std.extVar for a name that has no value.
func (p *program) unknownExternal(name string) string {
	message := fmt.Sprintf("std.extVar(%q): it gives the fields of script.parameters, ", name)
	fields, isObject := p.script.Parameters.(map[string]any)
	switch {
	case p.script.Parameters == nil:
		return message + "which the hook does not have: set it in the definition"
	case !isObject:
		return message + "which is no object"
	case len(fields) == 0:
		return message + "which has none: add it in the definition"
	default:
		return message + "which has " + strings.Join(slices.Sorted(maps.Keys(fields)), ", ") + ": add it in the definition"
	}
}
