package javascript

import (
	"fmt"
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/libretto-k8s/libretto/engines"
)

// outliner makes the outline of a bundle.
type outliner struct {
	entry string
	file  *file.File
	// steps bounds the outline, and temporaries numbers its own variables.
	steps, temporaries int
	// used are the places of names that stand for a value, and are not declared there or assigned to.
	used map[string]map[file.Idx]bool
	// exported are the exports of the entry, which are known once its statements have been taken.
	exported []*engines.OutlineStep
}

// outlineOf returns what a bundle does. Its tree must not have been instrumented.
func (b *bundledTree) outlineOf(parsed *ast.Program) *engines.Outline {
	o := &outliner{entry: b.entry, file: parsed.File, used: map[string]map[file.Idx]bool{}}
	wrapper := parsed.Body[0].(*ast.ExpressionStatement).Expression.(*ast.FunctionLiteral)
	root := o.block(wrapper.Body.List)
	root.Parts = append(root.Parts, o.exported...)
	b.warnings = append(b.warnings, o.undeclared(b)...)
	if o.steps > engines.MaxOutlineSteps {
		return nil
	}
	return &engines.Outline{Root: root}
}

func (o *outliner) step(op engines.OutlineOp, text string, parts ...*engines.OutlineStep) *engines.OutlineStep {
	o.steps++
	return engines.NewOutlineStep(op, text, parts...)
}

// placed returns a step with the place of a node.
func (o *outliner) placed(at file.Idx, op engines.OutlineOp, text string, parts ...*engines.OutlineStep) *engines.OutlineStep {
	s := o.step(op, text, parts...)
	if offset := int(at) - o.file.Base(); offset >= 0 {
		s.At = location(o.file.Position(offset))
	}
	return s
}

func (o *outliner) unknown(parts ...*engines.OutlineStep) *engines.OutlineStep {
	return o.step(engines.OutlineUnknown, "", parts...)
}

// block returns a scope of statements, in which functions are there from the start.
func (o *outliner) block(list []ast.Statement) *engines.OutlineStep {
	all := o.step(engines.OutlineBlock, "")
	for _, s := range list {
		if f, ok := s.(*ast.FunctionDeclaration); ok {
			all.Parts = append(all.Parts, o.step(engines.OutlineBind, f.Function.Name.Name.String(), o.expression(f.Function)))
		}
	}
	for _, s := range list {
		all.Parts = append(all.Parts, o.statement(s)...)
	}
	return all
}

// statement returns the steps of a statement. All branches are taken, and the bodies of loops once.
func (o *outliner) statement(s ast.Statement) []*engines.OutlineStep {
	switch s := s.(type) {
	case *ast.FunctionDeclaration:
		return nil
	case *ast.BlockStatement:
		return []*engines.OutlineStep{o.block(s.List)}
	case *ast.ReturnStatement:
		return []*engines.OutlineStep{o.step(engines.OutlineReturn, "", o.expression(s.Argument))}
	case *ast.ForOfStatement:
		element := o.step(engines.OutlineElement, "", o.expression(s.Source))
		return []*engines.OutlineStep{o.step(engines.OutlineBlock, "", append(o.into(s.Into, element), o.statement(s.Body)...)...)}
	case *ast.ForInStatement:
		key := o.step(engines.OutlineIs, "string", o.expression(s.Source))
		return []*engines.OutlineStep{o.step(engines.OutlineBlock, "", append(o.into(s.Into, key), o.statement(s.Body)...)...)}
	case *ast.SwitchStatement:
		var all []*engines.OutlineStep
		for _, c := range s.Body {
			if c.Test != nil {
				all = append(all, o.placed(c.Test.Idx0(), engines.OutlineStrict, "", o.expression(s.Discriminant), o.expression(c.Test)))
			}
			all = append(all, o.block(c.Consequent))
		}
		return all
	default:
		return o.parts(reflect.ValueOf(s))
	}
}

// parts returns the steps of all that a node consists of. goja has no visitor.
func (o *outliner) parts(v reflect.Value) []*engines.OutlineStep {
	var all []*engines.OutlineStep
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		if v.Kind() == reflect.Pointer && v.Type().Elem().PkgPath() != astPackage {
			return nil
		}
		if b, ok := v.Interface().(*ast.Binding); ok {
			return o.pattern(engines.OutlineBind, b.Target, o.expression(b.Initializer))
		}
		return o.parts(v.Elem())
	case reflect.Slice:
		for i := range v.Len() {
			all = append(all, o.part(v.Index(i))...)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			all = append(all, o.part(field)...)
		}
	}
	return all
}

// part returns the steps of a part of a node.
func (o *outliner) part(v reflect.Value) []*engines.OutlineStep {
	if v.Kind() == reflect.Interface && !v.IsNil() {
		switch n := v.Interface().(type) {
		case ast.Statement:
			return []*engines.OutlineStep{o.block([]ast.Statement{n})}
		case ast.Expression:
			return []*engines.OutlineStep{o.expression(n)}
		}
	}
	switch n := v.Interface().(type) {
	case *ast.FunctionLiteral:
		return []*engines.OutlineStep{o.expression(n)}
	case *ast.CatchStatement:
		if n != nil {
			caught := o.pattern(engines.OutlineBind, n.Parameter, o.unknown())
			return []*engines.OutlineStep{o.step(engines.OutlineBlock, "", append(caught, o.statement(n.Body)...)...)}
		}
	}
	return o.parts(v)
}

func (o *outliner) into(target ast.ForInto, value *engines.OutlineStep) []*engines.OutlineStep {
	switch t := target.(type) {
	case *ast.ForIntoVar:
		return o.pattern(engines.OutlineBind, t.Binding.Target, value)
	case *ast.ForDeclaration:
		return o.pattern(engines.OutlineBind, t.Target, value)
	case *ast.ForIntoExpression:
		return o.pattern(engines.OutlineAssign, t.Expression, value)
	}
	return nil
}

func (o *outliner) temporary() *engines.OutlineStep {
	o.temporaries++
	return o.step(engines.OutlineName, fmt.Sprint("%", o.temporaries))
}

// pattern returns the steps that declare or assign the variables of a target.
func (o *outliner) pattern(op engines.OutlineOp, target ast.Node, value *engines.OutlineStep) []*engines.OutlineStep {
	whole := o.temporary()
	all := []*engines.OutlineStep{o.step(engines.OutlineBind, whole.Text, value)}
	var rest ast.Expression
	switch t := target.(type) {
	case *ast.Identifier:
		return []*engines.OutlineStep{o.step(op, t.Name.String(), value)}
	case *ast.AssignExpression:
		return o.pattern(op, t.Left, o.step(engines.OutlineChoice, "", value, o.expression(t.Right)))
	case *ast.ObjectPattern:
		for _, p := range t.Properties {
			all = append(all, o.property(op, p, whole)...)
		}
		rest = t.Rest
	case *ast.ArrayPattern:
		for i, element := range t.Elements {
			if element != nil {
				index := o.step(engines.OutlineIndex, "", whole, o.step(engines.OutlineNumber, fmt.Sprint(i)))
				all = append(all, o.pattern(op, element, index)...)
			}
		}
		rest = t.Rest
	case *ast.DotExpression, *ast.BracketExpression:
		return []*engines.OutlineStep{o.step(engines.OutlineAssign, "", o.expression(t.(ast.Expression)), value)}
	}
	if rest != nil {
		all = append(all, o.pattern(op, rest, whole)...)
	}
	return all
}

// property returns the steps for a field of a pattern.
func (o *outliner) property(op engines.OutlineOp, p ast.Property, whole *engines.OutlineStep) []*engines.OutlineStep {
	switch p := p.(type) {
	case *ast.PropertyShort:
		value := o.placed(p.Name.Idx, engines.OutlineMember, p.Name.Name.String(), whole)
		if p.Initializer != nil {
			value = o.step(engines.OutlineChoice, "", value, o.expression(p.Initializer))
		}
		return o.pattern(op, &p.Name, value)
	case *ast.PropertyKeyed:
		if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed {
			return o.pattern(op, p.Value, o.placed(key.Idx, engines.OutlineMember, key.Value.String(), whole))
		}
		return o.pattern(op, p.Value, o.step(engines.OutlineIndex, "", whole, o.expression(p.Key)))
	}
	return nil
}

// function returns a function of parameters and a body.
func (o *outliner) function(parameters *ast.ParameterList, body ast.Node) *engines.OutlineStep {
	f, block := o.step(engines.OutlineFunction, ""), o.step(engines.OutlineBlock, "")
	for _, b := range parameters.List {
		given := o.temporary()
		f.Parts = append(f.Parts, given)
		if b.Initializer != nil {
			given = o.step(engines.OutlineChoice, "", given, o.expression(b.Initializer))
		}
		block.Parts = append(block.Parts, o.pattern(engines.OutlineBind, b.Target, given)...)
	}
	if parameters.Rest != nil {
		block.Parts = append(block.Parts, o.pattern(engines.OutlineBind, parameters.Rest, o.unknown())...)
	}
	switch b := body.(type) {
	case *ast.BlockStatement:
		block.Parts = append(block.Parts, o.block(b.List).Parts...)
	case *ast.ExpressionBody:
		block.Parts = append(block.Parts, o.step(engines.OutlineReturn, "", o.expression(b.Expression)))
	}
	f.Parts = append(f.Parts, block)
	return f
}

// expressions returns the steps of some expressions.
func (o *outliner) expressions(list ...ast.Expression) []*engines.OutlineStep {
	var all []*engines.OutlineStep
	for _, e := range list {
		if e != nil {
			all = append(all, o.expression(e))
		}
	}
	return all
}

// operators are the types of operators' values, but for those that have their own steps.
var operators = map[token.Token]string{
	token.LESS: "boolean", token.LESS_OR_EQUAL: "boolean", token.GREATER: "boolean", token.GREATER_OR_EQUAL: "boolean", token.NOT: "boolean",
	token.MINUS: "number", token.MULTIPLY: "number", token.SLASH: "number", token.REMAINDER: "number", token.TYPEOF: "string",
}

func (o *outliner) binary(e *ast.BinaryExpression) *engines.OutlineStep {
	left, right := o.expression(e.Left), o.expression(e.Right)
	switch e.Operator {
	case token.LOGICAL_AND:
		return o.step(engines.OutlineSame, "", right, left)
	case token.LOGICAL_OR, token.COALESCE:
		return o.step(engines.OutlineChoice, "", left, right)
	case token.STRICT_EQUAL, token.STRICT_NOT_EQUAL:
		return o.placed(e.Right.Idx0(), engines.OutlineStrict, "", left, right)
	case token.EQUAL, token.NOT_EQUAL:
		return o.placed(e.Right.Idx0(), engines.OutlineCompare, "", left, right)
	case token.IN:
		if key, ok := e.Left.(*ast.StringLiteral); ok {
			return o.step(engines.OutlineIs, "boolean", o.placed(key.Idx, engines.OutlineMember, key.Value.String(), right))
		}
	case token.PLUS:
		if isText(left) || isText(right) {
			return o.step(engines.OutlineMerge, "", left, right)
		}
	}
	if kind, ok := operators[e.Operator]; ok {
		return o.step(engines.OutlineIs, kind, left, right)
	}
	return o.unknown(left, right)
}

func isText(s *engines.OutlineStep) bool {
	return s.Op == engines.OutlineString || s.Op == engines.OutlineMerge || s.Op == engines.OutlineIs && s.Text == "string"
}

// expression returns the step of an expression, which may be nil.
func (o *outliner) expression(e ast.Expression) *engines.OutlineStep {
	switch e := e.(type) {
	case nil:
		return o.unknown()
	case *ast.Identifier:
		return o.name(e)
	case *ast.StringLiteral:
		return o.placed(e.Idx, engines.OutlineString, e.Value.String())
	case *ast.NumberLiteral:
		return o.placed(e.Idx, engines.OutlineNumber, fmt.Sprint(e.Value))
	case *ast.BooleanLiteral:
		return o.placed(e.Idx, engines.OutlineBool, e.Literal)
	case *ast.NullLiteral:
		return o.step(engines.OutlineNull, "")
	case *ast.DotExpression:
		return o.placed(e.Identifier.Idx, engines.OutlineMember, e.Identifier.Name.String(), o.expression(e.Left))
	case *ast.BracketExpression:
		return o.placed(e.Member.Idx0(), engines.OutlineIndex, "", o.expression(e.Left), o.expression(e.Member))
	case *ast.OptionalChain:
		return o.expression(e.Expression)
	case *ast.Optional:
		return o.expression(e.Expression)
	case *ast.AwaitExpression:
		return o.expression(e.Argument)
	case *ast.FunctionLiteral:
		return o.function(e.ParameterList, e.Body)
	case *ast.ArrowFunctionLiteral:
		return o.function(e.ParameterList, e.Body)
	case *ast.ArrayLiteral:
		return o.placed(e.LeftBracket, engines.OutlineList, "", o.expressions(e.Value...)...)
	case *ast.SpreadElement:
		return o.step(engines.OutlineSpread, "", o.expression(e.Expression))
	case *ast.ConditionalExpression:
		either := o.step(engines.OutlineChoice, "", o.expression(e.Consequent), o.expression(e.Alternate))
		return o.step(engines.OutlineSame, "", either, o.expression(e.Test))
	case *ast.BinaryExpression:
		return o.binary(e)
	default:
		return o.others(e)
	}
}

func (o *outliner) others(e ast.Expression) *engines.OutlineStep {
	switch e := e.(type) {
	case *ast.AssignExpression:
		return o.assign(e)
	case *ast.CallExpression:
		return o.call(e)
	case *ast.ObjectLiteral:
		return o.object(e)
	case *ast.TemplateLiteral:
		return o.template(e)
	case *ast.SequenceExpression:
		all := o.expressions(e.Sequence...)
		return o.step(engines.OutlineSame, "", append(all[len(all)-1:], all[:len(all)-1]...)...)
	case *ast.UnaryExpression:
		if e.Operator == token.INCREMENT || e.Operator == token.DECREMENT || e.Operator == token.DELETE {
			return o.step(engines.OutlineBlock, "", o.pattern(engines.OutlineAssign, e.Operand, o.unknown())...)
		}
		if _, isName := e.Operand.(*ast.Identifier); isName && e.Operator == token.TYPEOF {
			return o.step(engines.OutlineIs, "string") // It may ask whether there is such a name.
		}
		if kind, ok := operators[e.Operator]; ok {
			return o.step(engines.OutlineIs, kind, o.expression(e.Operand))
		}
	}
	return o.unknown(o.parts(reflect.ValueOf(e))...)
}

// template returns the sum of a template's parts.
func (o *outliner) template(e *ast.TemplateLiteral) *engines.OutlineStep {
	all := o.step(engines.OutlineString, "")
	for i, element := range e.Elements {
		all = o.step(engines.OutlineMerge, "", all, o.step(engines.OutlineString, element.Parsed.String()))
		if i < len(e.Expressions) {
			all = o.step(engines.OutlineMerge, "", all, o.expression(e.Expressions[i]))
		}
	}
	if e.Tag != nil {
		return o.unknown(all, o.expression(e.Tag))
	}
	return all
}

func (o *outliner) object(e *ast.ObjectLiteral) *engines.OutlineStep {
	all := o.placed(e.LeftBrace, engines.OutlineObject, "")
	for _, p := range e.Value {
		part := o.unknown()
		switch p := p.(type) {
		case *ast.PropertyShort:
			part = o.placed(p.Name.Idx, engines.OutlineField, p.Name.Name.String(), o.expression(&p.Name))
		case *ast.SpreadElement:
			part = o.expression(p)
		case *ast.PropertyKeyed:
			part = o.unknown(o.expression(p.Key), o.expression(p.Value))
			if key, ok := p.Key.(*ast.StringLiteral); ok && !p.Computed && p.Kind != ast.PropertyKindGet && p.Kind != ast.PropertyKindSet {
				part = o.placed(key.Idx, engines.OutlineField, key.Value.String(), part.Parts[1])
			}
		}
		all.Parts = append(all.Parts, part)
	}
	return all
}
