package jsonnet

import (
	"fmt"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// parsed is a file as all calls evaluate it. It depends on nothing but the path and the text, so that programs share it.
type parsed struct {
	node ast.Node
	// binds are what the expression uses of the prelude.
	binds   ast.LocalBinds
	imports []importRef
	// bytes is about the memory that it takes.
	bytes int64
}

// nodeBytes is about how much memory an expression takes beside its parts.
const nodeBytes = 270

// fileBytes is what a file takes beside its expressions and its text.
const fileBytes = 1 << 10

// parseFile parses a file and rewrites it. The error is of kind Invalid, with the place. coverage may be nil.
func parseFile(path, text string, coverage *coverage) (*parsed, error) {
	node, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	if coverage != nil {
		coverage.addFile(node)
	}
	r := rewriter{coverage: coverage}
	used := r.rewrite(&node, false)
	return &parsed{
		node: node, binds: preludeBinds(used), imports: r.sortedImports(),
		bytes: int64(r.nodes)*nodeBytes + int64(len(r.imports))*importBytes + int64(len(text)) + fileBytes,
	}, nil
}

func parse(path, text string) (ast.Node, error) {
	text = strings.TrimPrefix(text, engines.ByteOrderMark)
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
	return engines.InvalidError(at, "%s", explainSyntax(strings.TrimSpace(strings.TrimPrefix(err.Error(), loc.String()))))
}
