package jsonnet

import (
	"slices"

	"github.com/google/go-jsonnet/ast"
)

// base returns what all parts of an expression have: the call's place, and the free
// variables of their own parts.
func (b builder) base(parts ...ast.Node) ast.NodeBase {
	var free ast.Identifiers
	for _, part := range parts {
		free = append(free, part.FreeVariables()...)
	}
	slices.Sort(free)
	return ast.NodeBase{Ctx: b.call.Ctx, LocRange: b.call.LocRange, FreeVars: slices.Compact(free)}
}

func (b builder) variable(name ast.Identifier) ast.Node {
	v := variable(name)
	v.Ctx, v.LocRange = b.call.Ctx, b.call.LocRange
	return v
}

func (b builder) text(value string) ast.Node {
	return &ast.LiteralString{NodeBase: b.base(), Value: value, Kind: ast.StringDouble}
}

func (b builder) plus(left, right ast.Node) ast.Node {
	return &ast.Binary{NodeBase: b.base(left, right), Left: left, Op: ast.BopPlus, Right: right}
}

func (b builder) index(target, key ast.Node) ast.Node {
	return &ast.Index{NodeBase: b.base(target, key), Target: target, Index: key}
}

func (b builder) conditional(condition, yes, no ast.Node) ast.Node {
	return &ast.Conditional{NodeBase: b.base(condition, yes, no), Cond: condition, BranchTrue: yes, BranchFalse: no}
}

func (b builder) apply(function ast.Identifier, arguments ...ast.Node) ast.Node {
	target := b.variable(function)
	call := &ast.Apply{NodeBase: b.base(append(arguments, target)...), Target: target}
	for _, argument := range arguments {
		call.Arguments.Positional = append(call.Arguments.Positional, ast.CommaSeparatedExpr{Expr: argument})
	}
	return call
}

func without(names ast.Identifiers, name ast.Identifier) ast.Identifiers {
	return slices.DeleteFunc(slices.Clone(names), func(n ast.Identifier) bool { return n == name })
}
