package cel

import (
	"fmt"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"go.yaml.in/yaml/v3"

	"github.com/libretto-k8s/libretto/engines"
)

// request is the name of the whole request.
const request = "request"

// outlineOf returns what the script does, given the outline of its response.
func (c *compilation) outlineOf(response *engines.OutlineStep) *engines.Outline {
	step := engines.NewOutlineStep
	body := step(engines.OutlineBlock, "")
	for _, field := range c.fields {
		body.Parts = append(body.Parts, step(engines.OutlineBind, field,
			step(engines.OutlineMember, field, step(engines.OutlineName, request))))
	}
	for _, v := range c.variables {
		value := v.outline
		if v.code != nil && v.code.ast != nil {
			value = v.code.outline()
		}
		body.Parts = append(body.Parts, step(engines.OutlineBind, variablesPrefix+v.name, value))
	}
	body.Parts = append(body.Parts, step(engines.OutlineReturn, "", response))
	return &engines.Outline{Root: step(engines.OutlineFunction, "", step(engines.OutlineName, request), body)}
}

// directedOutline returns the outline of a mapping that has a directive, or nil: of its body for one element, or if a condition is true.
func (d *document) directedOutline(y *yaml.Node) *engines.OutlineStep {
	u := firstDirective(y)
	if u == nil {
		return nil
	}
	step := engines.NewOutlineStep
	operand, body := d.outlined(u.operand), d.outlined(u.rest)
	if u.repeats() {
		function := step(engines.OutlineFunction, "", step(engines.OutlineName, u.name), body)
		return step(engines.OutlineCall, "", function, step(engines.OutlineElement, "key", operand))
	}
	return step(engines.OutlineSame, "", body, operand)
}

// outlined returns the outline of a part of a document's response, which has been compiled.
func (d *document) outlined(y *yaml.Node) *engines.OutlineStep {
	y = resolveAlias(y)
	at := engines.Location{File: d.file.path, Line: y.Line, Column: y.Column}
	out := &engines.OutlineStep{At: at}
	switch y.Kind {
	case yaml.MappingNode:
		if directed := d.directedOutline(y); directed != nil {
			return directed
		}
		out.Op = engines.OutlineObject
		for i := 0; i < len(y.Content); i += 2 {
			key, value := resolveAlias(y.Content[i]), d.outlined(y.Content[i+1])
			field := engines.NewOutlineStep(engines.OutlineUnknown, "", value)
			if name, fixed := d.key(key).constantText(); fixed {
				field.Op, field.Text, field.At = engines.OutlineField, name, engines.Location{File: at.File, Line: key.Line, Column: key.Column}
			}
			out.Parts = append(out.Parts, field)
		}
	case yaml.SequenceNode:
		out.Op = engines.OutlineList
		for _, item := range y.Content {
			out.Parts = append(out.Parts, d.outlined(item))
		}
	default:
		d.outlineScalar(out, y)
	}
	return out
}

func (d *document) outlineScalar(out *engines.OutlineStep, y *yaml.Node) {
	switch n := d.scalars[y].(type) {
	case *constant:
		setLiteral(out, n.value)
	case *hole:
		*out = *n.code.outline()
	case template:
		out.Op, out.Text = engines.OutlineIs, "string"
		for _, s := range n {
			if s.code != nil {
				out.Parts = append(out.Parts, s.code.outline())
			}
		}
	default:
		out.Op = engines.OutlineUnknown
	}
}

// setLiteral makes a step the literal of a value.
func setLiteral(out *engines.OutlineStep, v any) {
	out.Text = fmt.Sprint(v)
	switch v.(type) {
	case string:
		out.Op = engines.OutlineString
	case bool:
		out.Op = engines.OutlineBool
	case int64, uint64, float64:
		out.Op = engines.OutlineNumber
	case nil:
		out.Op = engines.OutlineNull
	default:
		out.Op = engines.OutlineUnknown
	}
}

// outline returns the outline of an expression.
func (x *expression) outline() *engines.OutlineStep { return x.step(x.ast.NativeRep().Expr()) }

// stepAt returns a step at the place of an expression.
func (x *expression) stepAt(e ast.Expr, op engines.OutlineOp, text string, parts ...*engines.OutlineStep) *engines.OutlineStep {
	return &engines.OutlineStep{Op: op, Text: text, At: x.location(e.ID()), Parts: parts}
}

func (x *expression) steps(list ...ast.Expr) []*engines.OutlineStep {
	var all []*engines.OutlineStep
	for _, e := range list {
		all = append(all, x.step(e))
	}
	return all
}

// step returns the outline of a part of the expression.
func (x *expression) step(e ast.Expr) *engines.OutlineStep {
	switch e.Kind() {
	case ast.LiteralKind:
		out := x.stepAt(e, engines.OutlineNull, "")
		if e.AsLiteral() != types.NullValue {
			setLiteral(out, e.AsLiteral().Value())
		}
		return out
	case ast.IdentKind:
		return x.stepAt(e, engines.OutlineName, e.AsIdent())
	case ast.SelectKind:
		s := e.AsSelect()
		out := x.stepAt(e, engines.OutlineMember, s.FieldName(), x.step(s.Operand()))
		if s.IsTestOnly() {
			return x.stepAt(e, engines.OutlineIs, "boolean", out)
		}
		out.At = x.afterDot(e)
		return out
	case ast.ListKind:
		return x.stepAt(e, engines.OutlineList, "", x.steps(e.AsList().Elements()...)...)
	case ast.MapKind:
		return x.object(e)
	case ast.ComprehensionKind:
		return x.comprehension(e)
	case ast.CallKind:
		return x.call(e)
	}
	return x.stepAt(e, engines.OutlineUnknown, "")
}

// afterDot returns the place of the field of a selection, which is that of the dot in cel-go.
func (x *expression) afterDot(e ast.Expr) engines.Location {
	offsets, ok := x.ast.NativeRep().SourceInfo().GetOffsetRange(e.ID())
	if !ok {
		return engines.Location{}
	}
	i := int(offsets.Start)
	for i >= 0 && i < len(x.code.runes) && (x.code.runes[i] == '.' || white(x.code.runes[i])) {
		i++
	}
	return x.code.at(i)
}

func (x *expression) object(e ast.Expr) *engines.OutlineStep {
	out := x.stepAt(e, engines.OutlineObject, "")
	for _, entry := range e.AsMap().Entries() {
		key, value := entry.AsMapEntry().Key(), x.step(entry.AsMapEntry().Value())
		if name := x.step(key); name.Op == engines.OutlineString {
			out.Parts = append(out.Parts, x.stepAt(key, engines.OutlineField, name.Text, value))
		} else {
			out.Parts = append(out.Parts, x.stepAt(key, engines.OutlineUnknown, "", name, value))
		}
	}
	return out
}

// comprehension returns a call of a function of an element, whose value is that of the macro: a list, a boolean, or what is bound.
func (x *expression) comprehension(e ast.Expr) *engines.OutlineStep {
	c, step := e.AsComprehension(), engines.NewOutlineStep
	element := step(engines.OutlineElement, "key", x.step(c.IterRange()))
	function := step(engines.OutlineFunction, "", step(engines.OutlineName, c.AccuVar()), step(engines.OutlineName, c.IterVar()))
	arguments := []*engines.OutlineStep{x.step(c.AccuInit()), element}
	if c.HasIterVar2() {
		function.Parts = append(function.Parts, step(engines.OutlineName, c.IterVar2()))
		arguments[1], element.Text = step(engines.OutlineUnknown, ""), ""
		arguments = append(arguments, element)
	}
	body := step(engines.OutlineUnknown, "", x.step(c.LoopStep()))
	added, conditions := x.added(c.LoopStep(), c.AccuVar())
	switch {
	case added != nil:
		body = step(engines.OutlineSame, "", append([]*engines.OutlineStep{added}, conditions...)...)
	case x.typeOf(e) == "boolean":
		body.Op, body.Text = engines.OutlineIs, "boolean"
	case c.IterRange().Kind() == ast.ListKind && c.IterRange().AsList().Size() == 0:
		body = x.step(c.Result())
	}
	function.Parts = append(function.Parts, body)
	return step(engines.OutlineCall, "", append([]*engines.OutlineStep{function}, arguments...)...)
}

// added returns the list that a step of a loop adds to what is accumulated, and the conditions of that, or nil.
func (x *expression) added(e ast.Expr, accumulated string) (list *engines.OutlineStep, conditions []*engines.OutlineStep) {
	if e.Kind() != ast.CallKind {
		return nil, nil
	}
	args := e.AsCall().Args()
	switch e.AsCall().FunctionName() {
	case operators.Add:
		if args[0].Kind() == ast.IdentKind && args[0].AsIdent() == accumulated && args[1].Kind() == ast.ListKind {
			return x.step(args[1]), nil
		}
	case operators.Conditional:
		list, conditions = x.added(args[1], accumulated)
		return list, append(conditions, x.step(args[0]))
	}
	return nil, nil
}

// typeOf returns the type that cel-go knows an expression to have, or "".
func (x *expression) typeOf(e ast.Expr) string {
	switch x.ast.NativeRep().GetType(e.ID()).Kind() {
	case types.BoolKind:
		return "boolean"
	case types.StringKind:
		return "string"
	case types.IntKind, types.UintKind, types.DoubleKind:
		return "number"
	}
	return ""
}

// sums are the operators whose operands are of the same type.
const sums = " _+_ _-_ _*_ _/_ _%_ _<_ _<=_ _>_ _>=_ "

func (x *expression) call(e ast.Expr) *engines.OutlineStep {
	c := e.AsCall()
	args := x.steps(c.Args()...)
	if c.IsMemberFunction() {
		args = append(x.steps(c.Target()), args...)
	}
	name := c.FunctionName()
	switch {
	case name == operators.Conditional:
		return x.stepAt(e, engines.OutlineSame, "", x.stepAt(e, engines.OutlineChoice, "", args[1], args[2]), args[0])
	case name == operators.Equals || name == operators.NotEquals:
		return x.stepAt(c.Args()[1], engines.OutlineStrict, "", args...)
	case name == operators.In && args[0].Op == engines.OutlineString:
		if c.Args()[1].Kind() == ast.ListKind {
			break
		}
		return x.stepAt(e, engines.OutlineIs, "boolean", x.stepAt(c.Args()[0], engines.OutlineMember, args[0].Text, args[1]))
	case name == operators.In:
		return x.stepAt(c.Args()[1], engines.OutlineStrict, "", args[0], engines.NewOutlineStep(engines.OutlineElement, "key", args[1]))
	case name == operators.Add && (args[0].Op == engines.OutlineList || args[1].Op == engines.OutlineList):
		return x.stepAt(e, engines.OutlineList, "",
			engines.NewOutlineStep(engines.OutlineSpread, "", args[0]), engines.NewOutlineStep(engines.OutlineSpread, "", args[1]))
	case strings.Contains(sums, " "+name+" "):
		sum := x.stepAt(c.Args()[1], engines.OutlineSum, "", args...)
		if kind := x.typeOf(e); kind != "" {
			return x.stepAt(e, engines.OutlineIs, kind, sum)
		}
		return sum
	case name == operators.Index || name == operators.OptIndex:
		return x.stepAt(c.Args()[1], engines.OutlineIndex, "", args...)
	case name == operators.OptSelect:
		return x.stepAt(c.Args()[1], engines.OutlineMember, args[1].Text, args[0])
	case name == "orValue":
		return x.stepAt(e, engines.OutlineChoice, "", args...)
	case name == "merge":
		return x.stepAt(e, engines.OutlineMerge, "", args...)
	case name == "dyn" || name == "optional.of" || name == "optional.ofNonZeroValue" || name == "value":
		return args[0]
	}
	if kind := x.typeOf(e); kind != "" {
		return x.stepAt(e, engines.OutlineIs, kind, args...)
	}
	return x.stepAt(e, engines.OutlineUnknown, "", args...)
}
