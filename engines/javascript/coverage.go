package javascript

import (
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"

	"github.com/libretto-k8s/libretto/engines"
)

// Names of the wrapper's parameters for coverage. No script can write them.
const (
	// reportName is a function that is given a function, which returns the variables of all points.
	reportName = "%report"
	// pointPrefix starts the names of variables, one for each point, which are true once it is reached. A variable costs a
	// third of what an element of an array does.
	pointPrefix = "%"
	// operandName holds the left operand of a logical operator, from its evaluation to its test.
	operandName = "%operand"
)

// instrumenter changes a syntax tree so that it marks the points that it reaches. The tree is changed, and not
// its text: places, names of functions and what toString returns stay the same. goja has no visitor.
type instrumenter struct {
	place  func(ast.Node) (at engines.Location, written bool)
	seen   map[uintptr]bool
	points []engines.CoveragePoint
	// authored is whether the statement around is of the author's, and not of esbuild's or of a package.
	authored bool
}

// instrument adds points to the tree of a bundle, and the parameters that mark them to its wrapper.
func instrument(parsed *ast.Program, place func(ast.Node) (engines.Location, bool)) []engines.CoveragePoint {
	i := &instrumenter{place: place, seen: map[uintptr]bool{}}
	wrapper := parsed.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral)
	i.walk(reflect.ValueOf(wrapper))
	var all []ast.Expression
	for point := range i.points {
		all = append(all, identifier(pointName(point), 0))
	}
	for _, v := range append([]ast.Expression{identifier(reportName, 0), identifier(operandName, 0)}, all...) {
		wrapper.ParameterList.List = append(wrapper.ParameterList.List, &ast.Binding{Target: v.(*ast.Identifier)})
	}
	report := &ast.ExpressionStatement{Expression: &ast.CallExpression{
		Callee: identifier(reportName, 0),
		ArgumentList: []ast.Expression{&ast.ArrowFunctionLiteral{
			ParameterList: &ast.ParameterList{}, Body: &ast.ExpressionBody{Expression: &ast.ArrayLiteral{Value: all}},
		}},
	}}
	list := wrapper.Body.List
	first := slices.IndexFunc(list, func(s ast.Statement) bool { return !isDirective(s) })
	wrapper.Body.List = slices.Insert(list, max(first, 0), ast.Statement(report))
	return i.points
}

func pointName(point int) string { return pointPrefix + strconv.Itoa(point) }

func identifier(name string, at file.Idx) *ast.Identifier {
	return &ast.Identifier{Name: unistring.NewFromString(name), Idx: at}
}

// walk goes through all that is below a value, and lets node change it.
func (i *instrumenter) walk(v reflect.Value) {
	switch {
	case v.Kind() == reflect.Interface:
		if !v.IsNil() {
			i.walk(v.Elem())
			i.replace(v)
		}
	case v.Kind() == reflect.Pointer:
		if v.IsNil() || i.seen[v.Pointer()] {
			return
		}
		i.seen[v.Pointer()] = true
		i.node(v)
	case v.Kind() == reflect.Slice:
		for n := range v.Len() {
			i.walk(v.Index(n))
		}
	case v.Kind() == reflect.Struct && v.Type().PkgPath() == astPackage:
		for _, field := range v.Fields() {
			i.walk(field)
		}
	}
}

var astPackage = reflect.TypeFor[ast.Program]().PkgPath()

// node walks below a node, and adds the points that belong to it.
func (i *instrumenter) node(v reflect.Value) {
	switch n := v.Interface().(type) {
	case *ast.BlockStatement:
		n.List = i.statements(n.List)
		return
	case *ast.CaseStatement:
		i.walk(reflect.ValueOf(&n.Test).Elem())
		n.Consequent = i.statements(n.Consequent)
		return
	case *ast.IfStatement, *ast.SwitchStatement, *ast.ConditionalExpression:
		i.walk(v.Elem())
		i.decision(n)
		return
	case *ast.ParameterList:
		i.walk(v.Elem())
		for _, parameter := range n.List {
			parameter.Initializer = i.byDefault(parameter.Initializer)
		}
		return
	case *ast.ExpressionBody:
		i.walk(v.Elem())
		n.Expression = i.statement(n.Expression)
		return
	}
	i.walk(v.Elem())
	switch n := v.Interface().(type) {
	case *ast.ForStatement:
		n.Body = i.body(n.Body)
	case *ast.ForInStatement:
		n.Body = i.body(n.Body)
	case *ast.ForOfStatement:
		n.Body = i.body(n.Body)
	case *ast.WhileStatement:
		n.Body = i.body(n.Body)
	case *ast.DoWhileStatement:
		n.Body = i.body(n.Body)
	case *ast.PropertyShort:
		n.Initializer = i.byDefault(n.Initializer)
	case *ast.AssignExpression:
		if operator, logical := logicalOperators[n.Operator]; logical && !isNamedAfter(n.Right) {
			n.Right = i.marked(n.Right, i.outcome(n.Left, operator+"=", 0))
		}
	}
}

// statements walks through a list of statements, and returns it with a mark before each.
func (i *instrumenter) statements(list []ast.Statement) []ast.Statement {
	around := i.authored
	defer func() { i.authored = around }()
	all := make([]ast.Statement, 0, 2*len(list))
	directives := true
	for _, s := range list {
		directives = directives && isDirective(s)
		at, written := i.place(s)
		own := i.isAuthored(at, written)
		i.authored = own || around && !written
		if own && !directives && isCounted(s) {
			all = append(all, i.markStatement(at))
		}
		i.walk(reflect.ValueOf(&s).Elem())
		all = append(all, s)
	}
	return all
}

// isCounted reports whether a statement is one that runs. Functions are there before, and blocks consist of statements.
func isCounted(s ast.Statement) bool {
	switch s.(type) {
	case *ast.FunctionDeclaration, *ast.BlockStatement, *ast.EmptyStatement:
		return false
	}
	return true
}

func isDirective(s ast.Statement) bool {
	e, ok := s.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = e.Expression.(*ast.StringLiteral)
	return ok
}

// isAuthored reports whether a statement at a place is counted: esbuild adds some, and libraries are not the author's.
func (i *instrumenter) isAuthored(at engines.Location, written bool) bool {
	return written && isAuthored(at) && !isLibrary(at.File) && !testName.MatchString(at.File)
}

// isLibrary reports whether a file is of a package.
func isLibrary(name string) bool {
	return slices.Contains(strings.Split(path.Dir(name), "/"), "node_modules")
}

func (i *instrumenter) add(p engines.CoveragePoint) int {
	i.points = append(i.points, p)
	return len(i.points) - 1
}

// outcome adds an outcome of a decision, or returns -1 if it is not in the author's text.
func (i *instrumenter) outcome(at ast.Node, decision string, outcome int) int {
	place, _ := i.place(at)
	if !i.isAuthored(place, i.authored) {
		return -1
	}
	return i.add(engines.CoveragePoint{Location: place, Decision: decision, Outcome: outcome})
}

// mark returns an expression that marks a point. With a place of zero it adds none to the code.
func mark(point int, at file.Idx) ast.Expression {
	return &ast.AssignExpression{
		Operator: token.ASSIGN,
		Left:     identifier(pointName(point), at),
		Right:    &ast.BooleanLiteral{Idx: at, Value: true},
	}
}

func (i *instrumenter) markStatement(at engines.Location) ast.Statement {
	return &ast.ExpressionStatement{Expression: mark(i.add(engines.CoveragePoint{Location: at}), 0)}
}

// marked returns an expression that marks a point before its value.
func (i *instrumenter) marked(e ast.Expression, point int) ast.Expression {
	if point < 0 {
		return e
	}
	return &ast.SequenceExpression{Sequence: []ast.Expression{mark(point, e.Idx0()), e}}
}

// statement returns the expression that a function consists of, as a statement.
func (i *instrumenter) statement(e ast.Expression) ast.Expression {
	at, _ := i.place(e)
	if !i.isAuthored(at, i.authored) {
		return e
	}
	return i.marked(e, i.add(engines.CoveragePoint{Location: at}))
}

// byDefault returns the value of a parameter or field that is not given. A function keeps its name only if it stands alone.
func (i *instrumenter) byDefault(e ast.Expression) ast.Expression {
	if e == nil || isNamedAfter(e) {
		return e
	}
	return i.marked(e, i.outcome(e, "default", 0))
}

// isNamedAfter reports whether an expression is a function that is named after what it is assigned to.
func isNamedAfter(e ast.Expression) bool {
	switch e.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		return true
	}
	return false
}

// body returns the statement that a loop repeats, as a block with a mark.
func (i *instrumenter) body(s ast.Statement) ast.Statement {
	if _, isBlock := s.(*ast.BlockStatement); isBlock || s == nil || !isCounted(s) {
		return s
	}
	at, written := i.place(s)
	if !i.isAuthored(at, written) {
		return s
	}
	return &ast.BlockStatement{List: []ast.Statement{i.markStatement(at), s}}
}
