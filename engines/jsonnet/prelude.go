package jsonnet

import (
	_ "embed"

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

// isPreludeName reports whether a name is bound for the whole expression.
func isPreludeName(name ast.Identifier) bool {
	for _, p := range preludes {
		if p.name == name {
			return true
		}
	}
	return len(name) > len(filePrefix) && name[:len(filePrefix)] == filePrefix
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
