package jsonnet

import (
	"cmp"
	"slices"
	"strings"

	"github.com/google/go-jsonnet/ast"
)

// rewriter changes a file's expression in place, once, before any call sees it:
// imports of code are marked as such, and % and std.format become our own functions.
type rewriter struct {
	coverage *coverage // May be nil.
	// nodes is how many expressions the file has, and imports are its imports.
	nodes   int
	imports []importRef
}

// child is a place in an expression that holds another one.
type child struct {
	node *ast.Node
	// shadowed is true if std is a variable of the script's there.
	shadowed bool
}

// rewrite changes the expression, and returns the names of the prelude that it uses now. They
// are free in all expressions around it, up to the file's own.
func (r *rewriter) rewrite(node *ast.Node, shadowed bool) ast.Identifiers {
	if *node == nil {
		return nil
	}
	r.nodes++
	before := *node
	r.noteImport(before)
	if context := before.Context(); context != nil && len(*context) > maxContext {
		before.SetContext(&deepContext)
	}
	var used ast.Identifiers
	for _, s := range children(*node, shadowed) {
		used = append(used, r.rewrite(s.node, s.shadowed)...)
	}
	if len(used) > 0 {
		(*node).SetFreeVariables(base(*node, used).FreeVars)
	}
	if call, ok := (*node).(*ast.Apply); ok {
		*node = replaceCall(call, shadowed)
	}
	if r.coverage != nil && *node != before {
		r.coverage.replaced(*node, replacedParts(before)...)
	}
	return slices.DeleteFunc(slices.Clone((*node).FreeVariables()), func(name ast.Identifier) bool { return !isPreludeName(name) })
}

// maxContext bounds the name of what an expression is part of. Those of nested lists hold all lists around them, and so take
// memory with the square of their depth. Nothing of such a name is shown.
const maxContext = 200

var deepContext = "nested"

// noteImport adds an import, and marks it if it is one of code.
func (r *rewriter) noteImport(node ast.Node) {
	ref := importRef{line: node.Loc().Begin.Line, column: node.Loc().Begin.Column}
	switch n := node.(type) {
	case *ast.Import:
		ref.imported, ref.ofCode = strings.TrimPrefix(n.File.Value, codePrefix), true
		n.File.Value = codePrefix + strings.TrimPrefix(n.File.Value, codePrefix)
	case *ast.ImportStr:
		ref.imported = n.File.Value
	case *ast.ImportBin:
		ref.imported = n.File.Value
	default:
		return
	}
	r.imports = append(r.imports, ref)
}

// sortedImports returns the imports in the order of the text.
func (r *rewriter) sortedImports() []importRef {
	slices.SortFunc(r.imports, func(a, b importRef) int {
		return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return r.imports
}

// replaceCall returns what a call becomes: itself, if it is none of formatting.
func replaceCall(call *ast.Apply, shadowed bool) ast.Node {
	name, ok := replacement(call, shadowed)
	if !ok {
		return call
	}
	if expression := inlineFormat(call); expression != nil {
		return expression
	}
	call.Target = variable(name)
	call.FreeVars = base(call, ast.Identifiers{name}).FreeVars
	return call
}

// replacement returns the function of the prelude that replaces a call of std.
func replacement(call *ast.Apply, shadowed bool) (ast.Identifier, bool) {
	target, ok := call.Target.(*ast.Index)
	if !ok || call.TailStrict || len(call.Arguments.Positional) != 2 || len(call.Arguments.Named) != 0 {
		return "", false
	}
	switch stdField(target, shadowed) {
	case "mod":
		return percentName, true
	case "format":
		return formatName, true
	default:
		return "", false
	}
}

// stdField returns the name of the field if an expression is one of std's. What the
// parser writes for operators is $std, which no script can shadow.
func stdField(n *ast.Index, shadowed bool) string {
	target, ok := n.Target.(*ast.Var)
	if !ok || target.Id != "$std" && (target.Id != "std" || shadowed) {
		return ""
	}
	if name, ok := n.Index.(*ast.LiteralString); ok {
		return name.Value
	}
	return ""
}
