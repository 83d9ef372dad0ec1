package jsonnet

import (
	_ "embed"
	"slices"
	"sync"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"
)

// Names of the prelude in the linked expression.
const (
	// formatName is bound to what std.format does, percentName to what % does.
	formatName  = "$format"
	percentName = "$percent"
	// The others are for formats that are inlined.
	numberName = "$number"
	hasAllName = "$hasAll"
	singleName = "$single"
	typeName   = "$type"
	// refusedName is bound to std.format itself.
	refusedName = "$refused"
)

// preludeFile is the name of our own Jsonnet, the module for scripts included, in positions
// that no file's are.
const preludeFile = "<libretto>"

//go:embed format.jsonnet
var formatSource string

//go:embed percent.jsonnet
var percentSource string

//go:embed hasall.jsonnet
var hasAllSource string

//go:embed single.jsonnet
var singleSource string

// preludes are what our names are bound to. Those that use others are functions of them.
var preludes = []struct {
	name ast.Identifier
	text string
	uses ast.Identifiers
}{
	{name: formatName, text: formatSource},
	{name: percentName, text: percentSource, uses: ast.Identifiers{formatName}},
	{name: numberName, text: "std.native('$formatNumber')"},
	{name: hasAllName, text: hasAllSource},
	{name: singleName, text: singleSource},
	{name: typeName, text: "std.type"},
	{name: refusedName, text: "std.format"},
}

// isPreludeName reports whether a name is bound by the prelude.
func isPreludeName(name ast.Identifier) bool {
	for _, p := range preludes {
		if p.name == name {
			return true
		}
	}
	return false
}

// prelude parses Jsonnet of this package. If it uses names of the prelude, it is a function
// of them.
func prelude(text string, uses ...ast.Identifier) ast.Node {
	parsed, err := vm.SnippetToAST(preludeFile, text)
	if err != nil {
		panic(err)
	}
	if len(uses) == 0 {
		return parsed
	}
	return apply(parsed, uses...)
}

// parsedPreludes are the expressions of preludes, in their order.
var parsedPreludes = sync.OnceValue(func() []ast.Node {
	nodes := make([]ast.Node, len(preludes))
	for i, p := range preludes {
		nodes[i] = prelude(p.text, p.uses...)
	}
	return nodes
})

// preludeBinds returns the binds of these names, and of those that they use.
func preludeBinds(names ast.Identifiers) ast.LocalBinds {
	var binds ast.LocalBinds
	nodes := parsedPreludes()
	for i, p := range slices.Backward(preludes) { // A name uses only those before it.
		if slices.Contains(names, p.name) {
			binds = append(binds, ast.LocalBind{Variable: p.name, Body: nodes[i]})
			names = append(slices.Clone(names), p.uses...)
		}
	}
	return binds
}

// apply calls a function with variables. Its own free variables are those of both.
func apply(function ast.Node, names ...ast.Identifier) ast.Node {
	call := &ast.Apply{NodeBase: base(function, names), Target: function}
	for _, name := range names {
		call.Arguments.Positional = append(call.Arguments.Positional, ast.CommaSeparatedExpr{Expr: variable(name)})
	}
	return call
}

func base(at ast.Node, free ast.Identifiers) ast.NodeBase {
	all := slices.Concat(at.FreeVariables(), free)
	slices.Sort(all)
	return ast.NodeBase{LocRange: *at.Loc(), FreeVars: slices.Compact(all)}
}

func variable(name ast.Identifier) *ast.Var {
	return &ast.Var{NodeBase: ast.NodeBase{FreeVars: ast.Identifiers{name}}, Id: name}
}
