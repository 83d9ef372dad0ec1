package jsonnet

import (
	"strings"

	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// outliner makes the outline of a script.
type outliner struct {
	linked *linked
	steps  int
	// shadowed is true where std is a variable of the script's.
	shadowed bool
	// lines are those of the file at hand, and module is what it calls the host's module, if that name can mean nothing else in it.
	lines  []string
	module string
	// missing are fields that are asked of std and of the host's module, and that these do not have.
	missing []*engines.Error
}

// outline returns what the script does, or nil if it is too large. Nothing is known of libraries. What std and the host's module lack is
// added to what is missing.
func (l *linked) outline() *engines.Outline {
	o := &outliner{linked: l}
	defer func() { l.missing = append(l.missing, o.missing...) }()
	out := &engines.Outline{Files: map[string]*engines.OutlineStep{}}
	for _, path := range l.order {
		if strings.HasPrefix(path, vendorFolder+"/") {
			continue
		}
		text := strings.TrimPrefix(l.tree.text(path), engines.ByteOrderMark)
		o.lines, o.module = strings.Split(text, "\n"), moduleIn(text)
		if out.Files[path] = o.value(l.node(path)); o.steps > engines.MaxOutlineSteps {
			return nil
		}
	}
	out.Root = engines.NewOutlineStep(engines.OutlineImport, l.entry)
	return out
}

func (o *outliner) step(op engines.OutlineOp, text string, parts ...*engines.OutlineStep) *engines.OutlineStep {
	o.steps++
	return engines.NewOutlineStep(op, text, parts...)
}

func (o *outliner) placed(n ast.Node, op engines.OutlineOp, text string, parts ...*engines.OutlineStep) *engines.OutlineStep {
	s := o.step(op, text, parts...)
	if n.Loc() != nil && n.Loc().IsSet() {
		s.At = location(*n.Loc())
	}
	return s
}

func (o *outliner) values(nodes ...ast.Node) []*engines.OutlineStep {
	var all []*engines.OutlineStep
	for _, n := range nodes {
		all = append(all, o.value(n))
	}
	return all
}

// value returns the step of an expression, after the parser has reduced the language to its core.
func (o *outliner) value(node ast.Node) *engines.OutlineStep {
	if o.steps > engines.MaxOutlineSteps {
		return nil
	}
	switch n := node.(type) {
	case *ast.Var:
		return o.step(engines.OutlineName, string(n.Id))
	case *ast.LiteralString:
		return o.placed(n, engines.OutlineString, n.Value)
	case *ast.LiteralNumber:
		return o.placed(n, engines.OutlineNumber, n.OriginalString)
	case *ast.LiteralBoolean:
		return o.placed(n, engines.OutlineBool, map[bool]string{true: "true", false: "false"}[n.Value])
	case *ast.LiteralNull, *ast.Error: // What fails has no answer.
		return o.step(engines.OutlineNull, "")
	case *ast.Local:
		return o.local(n.Binds, func() *engines.OutlineStep { return o.value(n.Body) })
	case *ast.Function:
		return o.function(n)
	case *ast.Conditional:
		either := o.step(engines.OutlineChoice, "", o.values(n.BranchTrue, n.BranchFalse)...)
		return o.step(engines.OutlineSame, "", either, o.value(n.Cond))
	case *ast.Import:
		target, err := o.linked.resolve(importOf{n.Loc().FileName, strings.TrimPrefix(n.File.Value, codePrefix), true})
		if err != nil {
			return o.step(engines.OutlineUnknown, "")
		}
		return o.step(engines.OutlineImport, target)
	case *ast.Index:
		return o.index(n)
	case *ast.Array:
		list := o.placed(n, engines.OutlineList, "")
		for _, e := range n.Elements {
			list.Parts = append(list.Parts, o.value(e.Expr))
		}
		return list
	case *ast.Binary:
		return o.binary(n)
	case *ast.DesugaredObject:
		return o.local(n.Locals, func() *engines.OutlineStep { return o.object(n) })
	case *ast.Apply:
		return o.apply(n)
	case *ast.Unary:
		if n.Op == ast.UopNot {
			return o.step(engines.OutlineIs, "boolean", o.value(n.Expr))
		}
		return o.step(engines.OutlineIs, "number", o.value(n.Expr))
	}
	return o.step(engines.OutlineUnknown, "")
}

// local returns the step of an expression within local variables.
func (o *outliner) local(binds ast.LocalBinds, body func() *engines.OutlineStep) *engines.OutlineStep {
	around := o.shadowed
	o.shadowed = around || bindsStd(binds)
	let := o.step(engines.OutlineLet, "")
	for _, b := range binds {
		let.Parts = append(let.Parts, o.step(engines.OutlineBind, string(b.Variable), o.value(b.Body)))
	}
	let.Parts = append(let.Parts, body())
	o.shadowed = around
	return let
}

func (o *outliner) function(n *ast.Function) *engines.OutlineStep {
	f := o.step(engines.OutlineFunction, "")
	for _, p := range n.Parameters {
		f.Parts = append(f.Parts, o.step(engines.OutlineName, string(p.Name)))
	}
	f.Parts = append(f.Parts, o.value(n.Body))
	return f
}

// index returns the step of a field. What the parser writes for one after a dot has no place.
func (o *outliner) index(n *ast.Index) *engines.OutlineStep {
	target := o.value(n.Target)
	name, ok := n.Index.(*ast.LiteralString)
	if !ok || name.Loc().IsSet() {
		return o.placed(n.Index, engines.OutlineIndex, "", target, o.value(n.Index))
	}
	s := o.placed(n, engines.OutlineMember, name.Value, target)
	if end := n.Loc().End; s.At.Line > 0 && end.Column > len(name.Value) {
		s.At.Line, s.At.Column = end.Line, end.Column-len(name.Value)
	}
	o.checkMember(n, name.Value, s.At)
	return s
}

func (o *outliner) binary(n *ast.Binary) *engines.OutlineStep {
	left, right := o.value(n.Left), o.value(n.Right)
	switch n.Op {
	case ast.BopPlus:
		return o.placed(n, engines.OutlineMerge, "", left, right)
	case ast.BopManifestEqual, ast.BopManifestUnequal:
		return o.placed(n.Right, engines.OutlineStrict, "", left, right)
	case ast.BopMult, ast.BopDiv, ast.BopMinus:
		return o.step(engines.OutlineIs, "number", o.placed(n.Right, engines.OutlineSum, "", left, right))
	case ast.BopLess, ast.BopLessEq, ast.BopGreater, ast.BopGreaterEq:
		return o.step(engines.OutlineIs, "boolean", o.placed(n.Right, engines.OutlineSum, "", left, right))
	case ast.BopAnd, ast.BopOr:
		return o.step(engines.OutlineIs, "boolean", left, right)
	}
	return o.step(engines.OutlineUnknown, "", left, right)
}

// object returns the step of an object. Names in brackets are not known, and hidden fields have no place: they are not answered.
func (o *outliner) object(n *ast.DesugaredObject) *engines.OutlineStep {
	all := o.placed(n, engines.OutlineObject, "")
	for _, f := range n.Fields {
		name, ok := f.Name.(*ast.LiteralString)
		field := o.step(engines.OutlineUnknown, "", o.value(f.Name), o.value(f.Body))
		if ok && !o.isBracket(f.LocRange) {
			field = o.step(engines.OutlineField, name.Value, field.Parts[1])
			if f.PlusSuper {
				field.Op = engines.OutlineExtend
			}
			if f.Hide != ast.ObjectFieldHidden {
				field.At = location(f.LocRange)
			}
		}
		all.Parts = append(all.Parts, field)
	}
	return all
}

// isBracket reports whether a field of an object begins with a bracket.
func (o *outliner) isBracket(at ast.LocationRange) bool {
	line, column := at.Begin.Line-1, at.Begin.Column-1
	return line < 0 || line >= len(o.lines) || column < 0 || column >= len(o.lines[line]) || o.lines[line][column] == '['
}
