package javascript

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// logicalOperators are the operators that evaluate their right operand or not. Outcome 0 is that they do.
var logicalOperators = map[token.Token]string{token.LOGICAL_AND: "&&", token.LOGICAL_OR: "||", token.COALESCE: "??"}

// decision adds the outcomes of a statement or expression that decides.
func (i *instrumenter) decision(node any) {
	switch n := node.(type) {
	case *ast.IfStatement:
		n.Consequent = i.branch(n.Consequent, i.outcome(n, "if", 0))
		n.Alternate = i.branch(n.Alternate, i.outcome(n, "if", 1))
	case *ast.SwitchStatement:
		for number, c := range n.Body {
			if point := i.outcome(n, "switch", number); point >= 0 {
				c.Consequent = append([]ast.Statement{&ast.ExpressionStatement{Expression: mark(point, 0)}}, c.Consequent...)
			}
		}
	case *ast.ConditionalExpression:
		yes, no := i.outcome(n, "?:", 0), i.outcome(n, "?:", 1)
		n.Consequent, n.Alternate = i.marked(n.Consequent, yes), i.marked(n.Alternate, no)
	}
}

// branch returns a branch of an if statement, which may be missing, as a block with a mark.
func (i *instrumenter) branch(s ast.Statement, point int) ast.Statement {
	if _, isFunction := s.(*ast.FunctionDeclaration); isFunction || point < 0 {
		return s
	}
	marks := []ast.Statement{&ast.ExpressionStatement{Expression: mark(point, 0)}}
	if block, ok := s.(*ast.BlockStatement); ok {
		block.List = append(marks, block.List...)
		return block
	}
	if s != nil {
		marks = append(marks, i.body(s))
	}
	return &ast.BlockStatement{List: marks}
}

// replace changes an expression in its place, if it is a logical operator: to a condition on the left operand, which
// marks whether the right one is evaluated.
func (i *instrumenter) replace(slot reflect.Value) {
	n, ok := slot.Interface().(*ast.BinaryExpression)
	if !ok {
		return
	}
	operator, logical := logicalOperators[n.Operator]
	if !logical || isNamedAfter(n.Left) || !slot.CanSet() {
		return
	}
	evaluated, skipped := i.outcome(n.Right, operator, 0), i.outcome(n.Right, operator, 1)
	if evaluated < 0 {
		return
	}
	at := n.Left.Idx0()
	var test ast.Expression = &ast.AssignExpression{Operator: token.ASSIGN, Left: identifier(operandName, at), Right: n.Left}
	right, left := i.marked(n.Right, evaluated), i.marked(identifier(operandName, at), skipped)
	if n.Operator == token.COALESCE {
		test = &ast.BinaryExpression{Operator: token.EQUAL, Comparison: true, Left: test, Right: &ast.NullLiteral{Idx: at}}
	}
	decided := &ast.ConditionalExpression{Test: test, Consequent: right, Alternate: left}
	if n.Operator == token.LOGICAL_OR {
		decided.Consequent, decided.Alternate = left, right
	}
	slot.Set(reflect.ValueOf(decided))
}
