package cel

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"

	"github.com/libretto-k8s/libretto/engines"
)

// call is one evaluation of a program. It resolves the names in expressions.
type call struct {
	ctx     context.Context
	program *program
	request map[string]any
	reads   engines.Reads // of request
	values  []ref.Val     // of the variables, nil until asked for
	steps   uint64        // of all comprehensions
	spent   uint64        // see cost.go
	// reached are the points that the call has reached, or nil if they are not counted.
	reached engines.Coverage
	// stopped is why the call can't go on, once a variable's expression found so.
	stopped *engines.Error
	// loops are what ${forEach} has names for, the innermost last.
	loops []loop
}

// evaluate returns the value of an expression; where says what it is part of.
func (c *call) evaluate(x *expression, where string) (ref.Val, *engines.Error) {
	if c.ctx.Err() != nil {
		return nil, withFrame(engines.Ended(c.ctx), x.code.at(0), where)
	}
	if c.reached != nil {
		c.reached.Add(x.point)
	}
	v, _, err := x.program.Eval(c)
	switch {
	case c.stopped != nil:
		return nil, withFrame(c.stopped, x.code.at(0), where)
	case c.ctx.Err() != nil:
		return nil, withFrame(engines.Ended(c.ctx), x.code.at(0), where)
	case c.spent > maxCost:
		return nil, withFrame(exhausted(err), x.code.at(0), where)
	case err != nil:
		return nil, x.failure(err, where, c.request)
	default:
		return v, nil
	}
}

// Parent implements cel.Activation.
func (c *call) Parent() cel.Activation { return nil }

// ResolveName implements cel.Activation. Comprehensions ask for #interrupted after
// each step.
func (c *call) ResolveName(name string) (any, bool) {
	switch name {
	case "#interrupted":
		c.step()
		return nil, false
	case "request":
		return &object{fields: c.request, reads: &c.reads}, true
	}
	for _, l := range slices.Backward(c.loops) {
		if l.name == name {
			return l.value, true
		}
	}
	if v, ok := c.request[name]; ok {
		if part := c.reads.Field(name, v); part != nil {
			return &object{fields: v.(map[string]any), reads: part}, true
		}
		return v, true
	}
	if variable, ok := strings.CutPrefix(name, variablesPrefix); ok {
		return c.variable(variable)
	}
	if slices.Contains(c.program.fields, name) {
		return types.NewErr("the request has no %s: it has %s", name, strings.Join(slices.Sorted(maps.Keys(c.request)), ", ")), true
	}
	return nil, false
}

// step counts a step, and looks at the context now and then.
func (c *call) step() {
	if c.steps++; c.steps%stepsBetweenChecks == 0 && c.ctx.Err() != nil {
		stop(interpreter.ContextCancelled)
	}
	c.spend(1)
}

func (c *call) spend(cost uint64) {
	if c.spent += cost; c.spent > maxCost {
		stop(interpreter.CostLimitExceeded)
	}
}

// stop ends an evaluation. To say that it is interrupted would give a value that is
// an error, which || and && may absorb: so this panics, as cel-go's own limit on
// cost does, and the program's Eval recovers it.
func stop(cause interpreter.CancellationCause) {
	panic(interpreter.EvalCancelledError{Cause: cause, Message: "stopped"})
}

// variable evaluates a variable when it is first asked for, which may be never.
func (c *call) variable(name string) (any, bool) {
	index := slices.IndexFunc(c.program.variables, func(v *variable) bool { return v.name == name })
	if index < 0 {
		return nil, false
	}
	if c.values[index] == nil {
		c.values[index] = c.define(c.program.variables[index])
	}
	return c.values[index], true
}

func (c *call) define(v *variable) ref.Val {
	value, failure := c.valueOf(v)
	switch {
	case failure == nil:
		return value
	case failure.Kind == engines.Exhausted || c.ctx.Err() != nil:
		c.stopped = failure
		stop(interpreter.CostLimitExceeded)
		return nil
	default:
		return types.WrapErr(failure)
	}
}

// valueOf evaluates a variable.
func (c *call) valueOf(v *variable) (ref.Val, *engines.Error) {
	if v.value == nil {
		return c.evaluate(v.code, variablesPrefix+v.name)
	}
	r := &rendering{call: c, variable: true, answer: answer{Budget: engines.MaxResponseBytes, path: engines.Path{"variables", v.name}}}
	out, kept, err := v.value.render(r)
	value := adapter{}.NativeToValue(out)
	switch failed, isFailure := err.(*engines.Error); {
	case isFailure:
		return nil, failed
	case v.output.TypeName() != types.OptionalType.TypeName():
		return value, nil
	case !kept:
		return types.OptionalNone, nil
	}
	return types.OptionalOf(value), nil
}
