package jsonnet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// filePrefix starts the name that a file's value is bound to. No script can write
// it, nor any other name that starts with $.
const filePrefix = "$file:"

// linked is a script and all that it imports, as the locals of one expression.
// Files that import each other do so through these locals, which may be cyclic.
type linked struct {
	entry string
	binds ast.LocalBinds
	files map[string]ast.Node
	texts map[string]vm.Contents
	tree  tree
	// missing are the imports of missing files, which are errors where they
	// are evaluated.
	missing []*engines.Error
	// coverage is nil unless the script asks for it.
	coverage *coverage
}

// link parses the script's entry and what it imports. The error has kind Invalid, with the place.
func link(script *engines.Script) (*linked, error) {
	l := &linked{entry: script.Path, files: map[string]ast.Node{}, texts: map[string]vm.Contents{}, tree: tree{script.Files}}
	if err := script.Files.Check(script.Path); err != nil {
		return nil, err
	}
	for _, ours := range preludes {
		l.bind(ours.name, prelude(ours.text, ours.uses...))
	}
	if script.Coverage {
		l.coverage = newCoverage()
	}
	if err := l.file(script.Path); err != nil {
		return nil, err
	}
	if err := l.finishCoverage(); err != nil {
		return nil, err
	}
	return l, nil
}

func (l *linked) bind(name ast.Identifier, body ast.Node) {
	l.binds = append(l.binds, ast.LocalBind{Variable: name, Body: body})
}

// file adds a file of the tree, and then what it imports.
func (l *linked) file(path string) error {
	if _, there := l.files[path]; there {
		return nil
	}
	parsed, err := parse(path, l.tree.text(path))
	if err != nil {
		return err
	}
	l.files[path] = parsed
	if l.coverage != nil && isCode(path) {
		l.coverage.addFile(parsed)
	}
	r := rewriter{linked: l, path: path}
	r.rewrite(&parsed, false)
	l.files[path] = parsed
	l.bind(filePrefix+ast.Identifier(path), parsed)
	return r.err
}

// paths returns the paths of all files of the tree.
func (l *linked) paths() []string {
	paths := slices.Collect(maps.Keys(l.files))
	for path := range l.texts {
		paths = append(paths, path)
	}
	return slices.DeleteFunc(paths, func(path string) bool { return path == preludeFile })
}

func parse(path, text string) (ast.Node, error) {
	if problem := checkNesting(text); problem != "" {
		return nil, engines.InvalidError(engines.Location{File: path}, "%s", problem)
	}
	parsed, err := guarded(func() (ast.Node, error) { return vm.SnippetToAST(path, text) })
	if err != nil {
		return nil, staticError(path, err)
	}
	return parsed, nil
}

// guarded turns a panic of the parser, which would be a defect of it, into an error.
func guarded(parse func() (ast.Node, error)) (parsed ast.Node, err error) {
	defer func() {
		if defect := recover(); defect != nil {
			err = fmt.Errorf("the Jsonnet parser failed: %v", defect)
		}
	}()
	return parse()
}

// staticError returns what the parser and the static analysis refuse a file with.
func staticError(path string, err error) *engines.Error {
	placed, ok := err.(interface{ Loc() ast.LocationRange })
	if !ok {
		return engines.InvalidError(engines.Location{File: path}, "%v", err)
	}
	loc := placed.Loc()
	at := engines.Location{File: path, Line: loc.Begin.Line, Column: loc.Begin.Column}
	return engines.InvalidError(at, "%s", strings.TrimSpace(strings.TrimPrefix(err.Error(), loc.String())))
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

// rootExpression returns the whole expression, which calls function with the value of the entry.
func (l *linked) rootExpression(function string) ast.Node {
	return &ast.Local{
		NodeBase: ast.NodeBase{LocRange: ast.LocationRange{FileName: l.entry}, FreeVars: ast.Identifiers{"$std", "std"}},
		Binds:    l.binds,
		Body:     prelude(function, filePrefix+ast.Identifier(l.entry)),
	}
}
