package cel

import (
	"strings"

	"github.com/google/cel-go/cel"

	"github.com/libretto-k8s/libretto/engines"
)

// expression is one compiled expression. It is shared by all calls.
type expression struct {
	code    sourceText
	ast     *cel.Ast
	program cel.Program
	output  *cel.Type
	// point is the point of the whole expression, and observed are those of its parts, if coverage is counted.
	point    int
	observed map[int64][]observation
}

// compile type-checks an expression in the environment at hand. It returns nil, and
// adds an error, if the expression is wrong.
func (c *compilation) compile(code sourceText) *expression {
	if c.ctx.Err() != nil {
		return nil
	}
	ast, issues := c.env.Compile(code.String())
	if issues.Err() != nil {
		for _, e := range issues.Errors() {
			at := code.offset(e.Location)
			c.addError(code.at(at), c.explain(e.Message, at >= 0 && at < len(code.runes) && code.runes[at] == '('))
		}
		return nil
	}
	if minCost(ast.NativeRep().Expr()) > maxCost {
		c.addError(code.at(0), costMessage)
		return nil
	}
	x := &expression{code: code, ast: ast, output: ast.OutputType()}
	options := programOptions()
	if c.src.Script.Coverage {
		c.observe(x)
		options = append(options, cel.CustomDecorator(x.covering))
	}
	var err error
	if x.program, err = c.base.Program(ast, options...); err != nil {
		c.addError(code.at(0), err.Error())
		return nil
	}
	return x
}

func (c *compilation) knownVariables() string {
	if len(c.variables) == 0 {
		return "none is defined before this place"
	}
	names := make([]string, len(c.variables))
	for i, v := range c.variables {
		names[i] = v.name
	}
	return "defined before this place are " + strings.Join(names, ", ")
}

// location returns where the part of the expression with that id starts.
func (x *expression) location(id int64) engines.Location {
	if offsets, ok := x.ast.NativeRep().SourceInfo().GetOffsetRange(id); ok {
		return x.code.at(int(offsets.Start))
	}
	return x.code.at(0)
}
