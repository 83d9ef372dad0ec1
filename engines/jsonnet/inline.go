package jsonnet

import (
	"slices"

	"github.com/google/go-jsonnet/ast"
)

// Most formats are written down where they are used, so that how which value is formatted
// is known before it runs: '%s-%d' % [name, n] is inlined as '' + name + '-' +
// number('%d', n). It costs what + costs. Whatever std.format would refuse is given
// to it after all, by evaluating the expression as it was.

// Names for the value of an expression that is needed more than once: all values,
// and one number, which may be a part of those.
const (
	valuesName = "$values"
	oneName    = "$one"
)

// inlineFormat returns the expression that a call of formatName or percentName comes to, or
// nil if that is not known yet.
func inlineFormat(call *ast.Apply) ast.Node {
	arguments := call.Arguments.Positional
	str, ok := arguments[0].Expr.(*ast.LiteralString)
	if !ok {
		return nil
	}
	codes, ok := parseFormat(str.Value)
	if !ok || slices.ContainsFunc(codes, code.isRare) {
		return nil
	}
	b := builder{call: call, codes: codes}
	switch vals := arguments[1].Expr.(type) {
	case *ast.Array:
		return b.list(vals)
	case *ast.DesugaredObject:
		return b.object(vals, literalFields(vals))
	default:
		return b.anyValue(vals)
	}
}

// isRare reports whether a code is too rare to be inlined.
func (c code) isRare() bool {
	switch c.kind {
	case 0:
		return false
	case 's', '%':
		return c.width != 0
	case 'd', 'o', 'x', 'f':
		return c.width == fromValues || c.precision == fromValues
	default:
		return true
	}
}

// builder makes the expression of one call, with the call's place on all its parts.
type builder struct {
	call  *ast.Apply
	codes []code
}

// valueCodes returns the codes that take a value.
func (b builder) valueCodes() []code {
	return slices.DeleteFunc(slices.Clone(b.codes), func(c code) bool { return c.values() == 0 })
}

func (b builder) list(vals *ast.Array) ast.Node {
	if len(vals.Elements) != len(b.valueCodes()) {
		return nil
	}
	next := 0
	return b.concatenate(vals, func(code) ast.Node {
		next++
		return vals.Elements[next-1].Expr
	})
}

// anyValue is for a value of any kind: a list or object of values, or one value.
func (b builder) anyValue(vals ast.Node) ast.Node {
	taken := b.valueCodes()
	keyed := len(taken) > 0 && !slices.ContainsFunc(taken, func(c code) bool { return !c.keyed })
	switch {
	case keyed:
		return b.named(valuesName, vals, func(v ast.Node) ast.Node { return b.object(v, nil) })
	case len(taken) == 1:
		return b.named(valuesName, vals, b.single)
	default:
		return nil
	}
}

// single is for one value that is no list and no object, which is seen when it runs.
func (b builder) single(v ast.Node) ast.Node {
	isOne := b.index(b.variable(singleName), b.apply(typeName, v))
	return b.conditional(isOne, b.concatenate(v, func(code) ast.Node { return v }), b.formatCall(v))
}

// object is for an object that has all the fields, some of which may be known to be there.
func (b builder) object(v ast.Node, known []string) ast.Node {
	taken := b.valueCodes()
	if len(taken) == 0 || slices.ContainsFunc(taken, func(c code) bool { return !c.keyed }) {
		return nil
	}
	return b.named(valuesName, v, func(v ast.Node) ast.Node {
		fields := b.concatenate(v, func(c code) ast.Node { return b.index(v, b.text(c.key)) })
		missing := slices.DeleteFunc(taken, func(c code) bool { return slices.Contains(known, c.key) })
		if len(missing) == 0 {
			return fields
		}
		keys := &ast.Array{NodeBase: b.base()}
		for _, c := range missing {
			keys.Elements = append(keys.Elements, ast.CommaSeparatedExpr{Expr: b.text(c.key)})
		}
		return b.conditional(b.apply(hasAllName, v, keys), fields, b.formatCall(v))
	})
}

// literalFields returns the names of fields that are written down as such.
func literalFields(object *ast.DesugaredObject) []string {
	var names []string
	for _, field := range object.Fields {
		if name, ok := field.Name.(*ast.LiteralString); ok {
			names = append(names, name.Value)
		}
	}
	return names
}

// number returns the text of a number, for a code of one. Of anything else std.format
// is to say what is wrong with it, as one of all values.
func (b builder) number(c code, v, whole ast.Node) ast.Node {
	return b.named(oneName, v, func(v ast.Node) ast.Node {
		isNumber := &ast.Binary{NodeBase: b.base(), Left: b.apply(typeName, v), Op: ast.BopManifestEqual, Right: b.text("number")}
		isNumber.FreeVars = b.base(isNumber.Left).FreeVars
		return b.conditional(isNumber, b.apply(numberName, b.text(c.source), v), b.stdFormatCall(whole))
	})
}

// concatenate adds up the texts of all codes, whose values it takes from value.
func (b builder) concatenate(whole ast.Node, value func(code) ast.Node) ast.Node {
	sum := b.text("")
	if c := b.codes; len(c) > 0 && c[0].kind == 0 {
		sum, b.codes = b.text(c[0].text), c[1:]
	}
	for _, c := range b.codes {
		switch c.kind {
		case 0:
			sum = b.plus(sum, b.text(c.text))
		case '%':
			sum = b.plus(sum, b.text("%"))
		case 's':
			sum = b.plus(sum, value(c))
		default:
			sum = b.plus(sum, b.number(c, value(c), whole))
		}
	}
	return sum
}

// formatCall returns the original call, with the value under its new name.
func (b builder) formatCall(vals ast.Node) ast.Node {
	return b.apply(formatName, b.call.Arguments.Positional[0].Expr, vals)
}

// stdFormatCall returns the call of std.format itself, whose error explains what is wrong with the values.
func (b builder) stdFormatCall(vals ast.Node) ast.Node {
	return b.apply(refusedName, b.call.Arguments.Positional[0].Expr, vals)
}

// named makes an expression with a value that is evaluated once.
func (b builder) named(name ast.Identifier, v ast.Node, wrap func(ast.Node) ast.Node) ast.Node {
	if _, ok := v.(*ast.Var); ok {
		return wrap(v)
	}
	body := wrap(b.variable(name))
	if body == nil {
		return nil
	}
	local := &ast.Local{NodeBase: b.base(v, body), Binds: ast.LocalBinds{{Variable: name, Body: v}}, Body: body}
	local.FreeVars = without(local.FreeVars, name)
	return local
}
