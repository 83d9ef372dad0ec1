package jsonnet

import (
	"slices"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// rewriter changes a file's expression in place, once, before any call sees it:
// imports become variables, and % and std.format our own functions.
type rewriter struct {
	linked *linked
	path   string
	err    error
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
	if *node == nil || r.err != nil {
		return nil
	}
	before := *node
	r.replace(node, shadowed)
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
	if coverage := r.linked.coverage; coverage != nil && *node != before {
		coverage.replaced(*node, replacedParts(before)...)
	}
	return slices.DeleteFunc(slices.Clone((*node).FreeVariables()), func(name ast.Identifier) bool { return !isPreludeName(name) })
}

func (r *rewriter) replace(node *ast.Node, shadowed bool) {
	switch n := (*node).(type) {
	case *ast.Import:
		if found, ok := r.resolve(node, n.File.Value, tree.module); ok {
			r.err = r.linked.file(found)
			*node = variable(filePrefix + ast.Identifier(found))
			*(*node).Loc() = *n.Loc()
		}
	case *ast.ImportStr:
		r.importText(node, n.File.Value)
	case *ast.ImportBin:
		r.importText(node, n.File.Value)
	case *ast.Index:
		// The VM's std is that of the entry, wherever it is used.
		if stdField(n, shadowed) == "thisFile" {
			*node = &ast.LiteralString{NodeBase: ast.NodeBase{LocRange: *n.Loc()}, Value: r.path}
		}
	}
}

// importText keeps the text of a file for the VM's importer.
func (r *rewriter) importText(node *ast.Node, imported string) {
	if found, ok := r.resolve(node, imported, tree.resolve); ok {
		if _, there := r.linked.texts[found]; !there {
			r.linked.texts[found] = vm.MakeContents(r.linked.tree.Files[found])
		}
	}
}

// resolve returns the path of what the import in the slot asks for. One that asks for what
// is not there becomes an error of the script: Jsonnet is lazy, and only evaluates it if
// its value is needed.
func (r *rewriter) resolve(node *ast.Node, imported string, in func(t tree, importer, imported string) (string, error)) (string, bool) {
	found, err := in(r.linked.tree, r.path, imported)
	if err == nil {
		return found, true
	}
	at := (*node).Loc()
	place := engines.Location{File: r.path, Line: at.Begin.Line, Column: at.Begin.Column}
	r.linked.missing = append(r.linked.missing, engines.InvalidError(place, "%v", err))
	message := &ast.LiteralString{NodeBase: ast.NodeBase{LocRange: *at}, Value: err.Error(), Kind: ast.StringDouble}
	*node = &ast.Error{NodeBase: ast.NodeBase{LocRange: *at}, Expr: message}
	return "", false
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
