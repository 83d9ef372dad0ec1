package cel

import (
	"path"
	"slices"
	"strings"

	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/libretto-k8s/libretto/engines"
)

// when says at which values of an expression a point is reached.
type when int

const (
	always when = iota
	ifTrue
	ifFalse
	unlessTrue
	unlessFalse
)

// holds reports whether the point is reached at a value. It is nil if only that the expression is evaluated is known.
func (w when) holds(v ref.Val) bool {
	switch {
	case v == nil:
		return w == always
	case w == ifTrue:
		return v == types.True
	case w == ifFalse:
		return v == types.False
	case w == unlessTrue:
		return v != types.True
	case w == unlessFalse:
		return v != types.False
	default:
		return true
	}
}

// observation is a point that is reached when an expression is evaluated, at certain values of it.
type observation struct {
	point int
	when  when
}

// observer finds the points of one expression, and what is to be observed for them.
type observer struct {
	expression *expression
	points     *[]engines.CoveragePoint
	// observed are the observations of parts of the expression, by their ID.
	observed map[int64][]observation
	starts   map[int64]int
	offsets  map[int64]ast.OffsetRange
}

// observe adds the points of an expression: the expression itself, the parts that begin a line, and the outcomes of
// operators that decide.
func (c *compilation) observe(x *expression) {
	native := x.ast.NativeRep()
	o := &observer{
		expression: x, points: &c.points, observed: map[int64][]observation{}, starts: map[int64]int{},
		offsets: native.SourceInfo().OffsetRanges(),
	}
	x.point = o.add(o.start(native.Expr()), "", 0)
	o.parts(native.Expr(), o.line(native.Expr()))
	x.observed = o.observed
}

func (o *observer) add(offset int, decision string, outcome int) int {
	*o.points = append(*o.points, engines.CoveragePoint{Location: o.expression.code.at(offset), Decision: decision, Outcome: outcome})
	return len(*o.points) - 1
}

// start returns where an expression begins: cel-go places operators, and not what is before them.
func (o *observer) start(e ast.Expr) int {
	if known, ok := o.starts[e.ID()]; ok {
		return known
	}
	first := -1
	if at, ok := o.offsets[e.ID()]; ok {
		first = int(at.Start)
	}
	for _, part := range partsOf(e) {
		if at := o.start(part); at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	o.starts[e.ID()] = first
	return first
}

func (o *observer) line(e ast.Expr) int { return o.expression.code.at(o.start(e)).Line }

// part adds the points of a part of an expression that begins in the line outer. otherwise is how to observe a part that
// is constant, and so not evaluated, or nil.
func (o *observer) part(e ast.Expr, outer int, otherwise func(point int)) {
	line := o.line(e)
	switch {
	case line == outer:
	case !isConstant(e):
		id := firstEvaluated(e).ID()
		o.observed[id] = append(o.observed[id], observation{o.add(o.start(e), "", 0), always})
	case otherwise != nil:
		otherwise(o.add(o.start(e), "", 0))
	}
	o.parts(e, line)
}

func (o *observer) parts(e ast.Expr, line int) {
	switch e.Kind() {
	case ast.CallKind:
		if o.decision(e.AsCall(), line) {
			return
		}
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		o.generated(e, line, c.IterRange(), c.AccuInit(), c.LoopStep(), c.Result())
		return
	}
	for _, part := range partsOf(e) {
		o.part(part, line, nil)
	}
}

// decision adds the outcomes of an operator that decides. It reports false for any other.
func (o *observer) decision(call ast.CallExpr, line int) bool {
	args, left := call.Args(), []when{ifTrue, ifFalse}
	name := ""
	switch call.FunctionName() {
	case operators.Conditional:
		name = "?:"
	case operators.LogicalAnd:
		name, left = "&&", []when{unlessFalse, ifFalse}
	case operators.LogicalOr:
		name, left = "||", []when{unlessTrue, ifTrue}
	default:
		return false
	}
	at := o.start(args[0])
	if name != "?:" {
		at = o.start(args[1])
	}
	id := value(args[0]).ID()
	for outcome, w := range left {
		o.observed[id] = append(o.observed[id], observation{o.add(at, name, outcome), w})
	}
	o.part(args[0], line, nil)
	for i, part := range args[1:] {
		o.part(part, line, func(point int) { o.observed[id] = append(o.observed[id], observation{point, left[i]}) })
	}
	return true
}

// generated goes through what a macro became: what has the place of the macro, or none, is not the author's.
func (o *observer) generated(macro ast.Expr, line int, parts ...ast.Expr) {
	place := o.offsets[macro.ID()]
	for _, part := range parts {
		if at, ok := o.offsets[part.ID()]; ok && at != place {
			o.part(part, line, nil)
		} else {
			o.generated(macro, line, partsOf(part)...)
		}
	}
}

// partsOf returns the expressions that an expression consists of.
func partsOf(e ast.Expr) []ast.Expr {
	switch e.Kind() {
	case ast.CallKind:
		if c := e.AsCall(); c.IsMemberFunction() {
			return append([]ast.Expr{c.Target()}, c.Args()...)
		}
		return e.AsCall().Args()
	case ast.ComprehensionKind:
		c := e.AsComprehension()
		return []ast.Expr{c.IterRange(), c.AccuInit(), c.LoopStep(), c.Result()}
	case ast.ListKind:
		return e.AsList().Elements()
	case ast.MapKind:
		var all []ast.Expr
		for _, entry := range e.AsMap().Entries() {
			all = append(all, entry.AsMapEntry().Key(), entry.AsMapEntry().Value())
		}
		return all
	case ast.SelectKind:
		return []ast.Expr{e.AsSelect().Operand()}
	default:
		return nil
	}
}

// isConstant reports whether an expression may be computed at load.
func isConstant(e ast.Expr) bool {
	switch e.Kind() {
	case ast.LiteralKind:
		return true
	case ast.CallKind, ast.ListKind, ast.MapKind:
		return !slices.ContainsFunc(partsOf(e), func(part ast.Expr) bool { return !isConstant(part) })
	default:
		return false
	}
}

// firstEvaluated returns the part that is evaluated when an expression is: cel-go must know comprehensions as such.
func firstEvaluated(e ast.Expr) ast.Expr {
	for e.Kind() == ast.ComprehensionKind {
		e = e.AsComprehension().IterRange()
	}
	return e
}

// value returns the part whose value is that of the expression.
func value(e ast.Expr) ast.Expr {
	for e.Kind() == ast.ComprehensionKind {
		e = e.AsComprehension().Result()
	}
	return e
}

// covering makes parts of an expression mark points.
func (x *expression) covering(i interpreter.Interpretable) (interpreter.Interpretable, error) {
	observations := x.observed[i.ID()]
	if len(observations) == 0 {
		return i, nil
	}
	if attribute, ok := i.(interpreter.InterpretableAttribute); ok {
		return &coveredAttribute{attribute, observations}, nil
	}
	return &covered{i, observations}, nil
}

// covered is a part of an expression that marks points.
type covered struct {
	interpreter.Interpretable
	observations []observation
}

// Eval implements interpreter.Interpretable.
func (c *covered) Eval(vars interpreter.Activation) ref.Val {
	return mark(vars, c.observations, c.Interpretable.Eval(vars))
}

// mark marks points for an expression with a value, which it returns.
func mark(vars interpreter.Activation, observations []observation, v ref.Val) ref.Val {
	if c := callOf(vars); c != nil && c.reached != nil {
		for _, o := range observations {
			if o.when.holds(v) {
				c.reached.Add(o.point)
			}
		}
	}
	return v
}

// coveredAttribute is a variable, selection or condition that marks points.
type coveredAttribute struct {
	interpreter.InterpretableAttribute
	observations []observation
}

// Eval implements interpreter.Interpretable.
func (c *coveredAttribute) Eval(vars interpreter.Activation) ref.Val {
	return mark(vars, c.observations, c.InterpretableAttribute.Eval(vars))
}

// Resolve implements interpreter.Attribute.
func (c *coveredAttribute) Resolve(vars interpreter.Activation) (any, error) {
	mark(vars, c.observations, nil)
	return c.InterpretableAttribute.Resolve(vars)
}

// Attr implements interpreter.InterpretableAttribute. It is what ?: has of its branches.
func (c *coveredAttribute) Attr() interpreter.Attribute {
	return &coveredBranch{c.InterpretableAttribute.Attr(), c.observations}
}

type coveredBranch struct {
	interpreter.Attribute
	observations []observation
}

// Resolve implements interpreter.Attribute.
func (c *coveredBranch) Resolve(vars interpreter.Activation) (any, error) {
	mark(vars, c.observations, nil)
	return c.Attribute.Resolve(vars)
}

// isCode reports whether a file is a script.
func isCode(name string) bool {
	return slices.ContainsFunc(Definition().Extensions, func(extension string) bool { return strings.HasSuffix(path.Base(name), extension) })
}
