// Package cel is the engine for hooks written in CEL, the expression language of
// Kubernetes' own admission policies.
//
// A script is one expression with the whole response as its value (sync.cel), or a YAML
// document with named expressions and a skeleton of the response that has
// ${expressions} in its holes (sync.cel.yaml). Both are type-checked at load,
// where unknown variables and wrong types are errors with line and column, in the
// document's own lines. The request is not copied: expressions look at the Go
// values, and parts that are returned are not copied. Maps are
// iterated by sorted keys, so that equal requests have equal answers.
//
// CEL has no loops without end, no clock and no way out. What this package can't
// do is bound the memory of an expression, or stop one within a single operation,
// such as comparing lists that were doubled thirty times: cost is charged after
// the fact, and the context is looked at between the steps of comprehensions. That
// takes a process to kill. The package keeps no state outside of the values that
// it returns, so that it runs in such a process as well as in the host.
package cel

import (
	"context"

	"github.com/google/cel-go/cel"

	"github.com/libretto-k8s/libretto/engines"
)

// Definition describes the engine.
func Definition() engines.Definition {
	return engines.Definition{
		Name:       "CEL",
		Doc:        "Runs hooks written in CEL, as one expression or as YAML with expressions in it.",
		Extensions: []string{".cel", ".cel.yaml"},
		New: func(engines.Config) (engines.Engine, error) {
			base, err := newEnvironment()
			if err != nil {
				return nil, err
			}
			return &engine{base: base}, nil
		},
	}
}

// engine holds what the environments of all scripts have in common.
type engine struct {
	base *cel.Env
}

// Compile type-checks the script. Of several errors the first is the error's
// location and message, the others (five at most) are its stack.
func (e *engine) Compile(ctx context.Context, src engines.Source) (engines.Program, error) {
	if src.Script == nil {
		return nil, engines.InvalidError(engines.Location{}, "the CEL engine runs scripts, and this source is an endpoint")
	}
	text, err := scriptText(src.Script)
	if err != nil {
		return nil, err
	}
	if src.Hook == engines.HookImports {
		return engines.NewImports([]string{src.Script.Path}, nil), nil // There are no imports.
	}
	c, err := newCompilation(ctx, e.base, src)
	if err != nil {
		return nil, err
	}
	p := &program{hook: src.Hook, script: src.Script, fields: c.fields}
	if isDocument(src.Script.Path, text) {
		p.response = c.document(text)
	} else {
		p.response = c.expression(text)
	}
	p.variables, p.outline = c.variables, c.outline
	if err := c.err(ctx); err != nil {
		return nil, err
	}
	if p.points, err = c.allPoints(); err != nil {
		return nil, err
	}
	return p, nil
}
