package cel

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/cel-go/cel"

	"github.com/libretto-k8s/libretto/engines"
)

// compilation turns one script into a program. It goes on after an error, so that
// an author sees several at once.
type compilation struct {
	ctx       context.Context
	src       engines.Source
	base      *cel.Env
	env       *cel.Env // with what expressions can use at this point
	fields    []string
	variables []*variable
	problems  []*engines.Error
	points    []engines.CoveragePoint
	// outline is nil unless the script asks for it.
	outline *engines.Outline
}

// variable is a named expression of a document, or a named part of a response.
type variable struct {
	name   string
	code   *expression
	value  node
	output *cel.Type
	// outline is that of the value, if the script asks for it.
	outline *engines.OutlineStep
}

func newCompilation(ctx context.Context, base *cel.Env, src engines.Source) (*compilation, error) {
	c := &compilation{ctx: ctx, src: src, base: base}
	return c, c.use(fieldsOf(src.Hook))
}

// use makes the environment for requests with these fields, and with the variables so far.
func (c *compilation) use(fields []string) error {
	options := declarations(fields)
	for _, v := range c.variables {
		options = append(options, v.declaration())
	}
	env, err := c.base.Extend(options...)
	if err != nil {
		return engines.InvalidError(engines.Location{File: c.src.Script.Path}, "CEL environment: %v", err)
	}
	c.env, c.fields = env, fields
	return nil
}

const variablesPrefix = "variables."

func (v *variable) declaration() cel.EnvOption {
	return cel.Variable(variablesPrefix+v.name, v.output)
}

// expression compiles a script that is one expression.
func (c *compilation) expression(content string) node {
	if !c.isFunction(c.src.Hook) {
		c.addError(engines.Location{File: c.src.Script.Path}, fmt.Sprintf(
			"function is %q, and this script is one expression, which answers the hook %s: "+
				"leave function out, or write a .cel.yaml document with hooks", c.src.Script.Function, c.src.Hook))
		return nil
	}
	code := c.compile(wholeFile(c.src.Script.Path, content))
	if code == nil {
		return nil
	}
	if c.src.Script.Outline {
		c.outline = c.outlineOf(code.outline())
	}
	return &hole{code: code, where: c.src.Hook}
}

// isFunction reports whether the hook's function may be called that.
func (c *compilation) isFunction(hook string) bool {
	return c.src.Script.Function == "" || c.src.Script.Function == hook
}

func (c *compilation) addError(at engines.Location, message string) {
	c.problems = append(c.problems, engines.InvalidError(at, "%s", message))
}

// err makes one error of all problems, in the order of the file.
func (c *compilation) err(ctx context.Context) error {
	if ctx.Err() != nil {
		return engines.Ended(ctx)
	}
	if len(c.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(c.problems, func(a, b *engines.Error) int {
		if a.Location.Line != b.Location.Line {
			return a.Location.Line - b.Location.Line
		}
		return a.Location.Column - b.Location.Column
	})
	return engines.JoinErrors(c.problems)
}
