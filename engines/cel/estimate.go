package cel

import (
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
)

// minCost returns what an expression costs at least, by the meter of cost.go, if it
// does not fail: only lists that stand in it have a length that is known at load.
// Beyond maxCost it is not exact. cel-go's estimate is of no use for this: it takes
// numbers that it does not know for the largest there is, and lists that were
// filtered to be as long as before.
func minCost(e ast.Expr) uint64 {
	switch e.Kind() {
	case ast.CallKind:
		return minCostOfCall(e.AsCall())
	case ast.ComprehensionKind:
		return minCostOfComprehension(e.AsComprehension())
	case ast.ListKind:
		return minCostOfAll(e.AsList().Elements())
	case ast.MapKind:
		cost := uint64(0)
		for _, entry := range e.AsMap().Entries() {
			cost += minCost(entry.AsMapEntry().Key()) + minCost(entry.AsMapEntry().Value())
		}
		return min(cost, maxCost+1)
	case ast.SelectKind:
		return minCost(e.AsSelect().Operand())
	default:
		return 0
	}
}

func minCostOfAll(all []ast.Expr) uint64 {
	cost := uint64(0)
	for _, e := range all {
		cost += minCost(e)
	}
	return min(cost, maxCost+1)
}

func minCostOfCall(c ast.CallExpr) uint64 {
	args := c.Args()
	switch c.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		return minCost(args[0])
	case operators.Conditional:
		return minCost(args[0]) + min(minCost(args[1]), minCost(args[2]))
	case "orValue", "or":
		return minCost(c.Target())
	}
	cost := minCostOfAll(args)
	if c.IsMemberFunction() {
		cost += minCost(c.Target())
	}
	return min(cost, maxCost+1)
}

// minCostOfComprehension counts the steps of those that go through all of a list, as
// map and filter do; all and exists may end early.
func minCostOfComprehension(c ast.ComprehensionExpr) uint64 {
	cost := minCost(c.IterRange()) + minCost(c.Result())
	length := uint64(0)
	if c.IterRange().Kind() == ast.ListKind {
		list := c.IterRange().AsList()
		length = uint64(list.Size() - len(list.OptionalIndices()))
	}
	if condition := c.LoopCondition(); condition.Kind() == ast.LiteralKind && condition.AsLiteral() == types.True {
		cost += length * (1 + minCost(c.LoopStep()))
	}
	return min(cost, maxCost+1)
}
