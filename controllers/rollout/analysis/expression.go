package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/interpreter"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/utils/lru"

	"github.com/libretto-k8s/libretto/engines"
)

// childrenBefore is a variable of expressions over parents. It is one name, so that another field of before does not compile.
const childrenBefore = "before.children"

// overParents and overResult are what expressions may be about: Kubernetes' own environment, with its limit of costs, and the variables.
var (
	overParents = newScope(
		cel.Variable("parent", cel.DynType), cel.Variable("children", cel.ListType(cel.DynType)), cel.Variable(childrenBefore, cel.IntType))
	overResult = newScope(cel.Variable("result", cel.ListType(cel.DoubleType)))
)

// scope is an environment of expressions, with those that were compiled last: a definition's are needed whenever it is reconciled.
type scope struct {
	environment func() (*cel.Env, error)
	compiled    *lru.Cache
}

// maxCompiled is how many expressions a scope keeps.
const maxCompiled = 256

func newScope(variables ...cel.EnvOption) scope {
	return scope{compiled: lru.New(maxCompiled), environment: sync.OnceValues(func() (*cel.Env, error) {
		set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).
			Extend(environment.VersionedOptions{IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: variables})
		if err != nil {
			return nil, err
		}
		return set.StoredExpressionsEnv(), nil
	})}
}

// stepsBetweenChecks is after how many steps of a comprehension an expression looks whether its time is over.
const stepsBetweenChecks = 100

// expression is a compiled expression that is true or false.
type expression struct {
	env     *cel.Env
	text    string
	checked *cel.Ast
	program cel.Program
}

// compile returns an expression that is true or false.
func (s scope) compile(text string) (*expression, error) {
	if known, is := s.compiled.Get(text); is {
		return known.(*expression), nil
	}
	env, err := s.environment()
	if err != nil {
		return nil, err
	}
	checked, issues := env.Compile(text)
	if issues.Err() != nil {
		first := issues.Errors()[0]
		return nil, fmt.Errorf("it does not compile: %s, at line %d, column %d",
			strings.TrimSuffix(first.Message, " (in container '')"), first.Location.Line(), first.Location.Column()+1)
	}
	if !checked.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("it must be true or false, and is of type %s: compare it with something", checked.OutputType())
	}
	program, err := env.Program(checked, cel.InterruptCheckFrequency(stepsBetweenChecks))
	if err != nil {
		return nil, err
	}
	e := &expression{env, text, checked, program}
	s.compiled.Add(text, e)
	return e, nil
}

// String returns the start of the text.
func (e *expression) String() string { return engines.Truncate(e.text, maxMessage/2) }

// toldErrors are the starts of errors that repeat no value: what can't be converted may be a secret.
var toldErrors = []string{
	"no such key", "no such attribute", "no such overload", "index out of bounds", "division by zero", "modulus by zero",
	"operation cancelled", "operation interrupted",
}

// evaluate returns whether the expression is true. If it is not, why has the numbers that it compares.
func (e *expression) evaluate(ctx context.Context, variables map[string]any) (is bool, why string, err error) {
	value, _, err := e.program.ContextEval(ctx, variables)
	isTold := func(start string) bool { return strings.HasPrefix(err.Error(), start) }
	switch {
	case err != nil && !slices.ContainsFunc(toldErrors, isTold):
		return false, "", errors.New("it fails because of a value, which is not shown")
	case err != nil:
		return false, "", err
	case value == types.True:
		return true, "", nil
	}
	return false, fmt.Sprintf("%s is false%s", e, e.compared(ctx, variables)), nil
}

// compared returns the numbers that the comparison has that makes the expression false, or empty. A text may be a secret.
func (e *expression) compared(ctx context.Context, variables map[string]any) string {
	tracking, err := e.env.Program(e.checked, cel.EvalOptions(cel.OptTrackState), cel.InterruptCheckFrequency(stepsBetweenChecks))
	if err != nil {
		return ""
	}
	_, details, err := tracking.ContextEval(ctx, variables)
	if err != nil || details == nil {
		return ""
	}
	whole := e.checked.NativeRep()
	part := falsePart(whole.Expr(), details.State())
	if part.Kind() != ast.CallKind {
		return ""
	}
	var all []string
	for _, operand := range part.AsCall().Args() {
		value, known := details.State().Value(operand.ID())
		text, err := parser.Unparse(operand, whole.SourceInfo())
		switch value.(type) {
		case types.Int, types.Uint, types.Double, types.Bool:
			if known && err == nil && operand.Kind() != ast.LiteralKind {
				all = append(all, fmt.Sprintf("%s is %v", text, value.Value()))
			}
		}
	}
	if len(all) == 0 {
		return ""
	}
	return ": " + strings.Join(all, ", ")
}

// falsePart returns the first part of an expression by which it is false.
func falsePart(e ast.Expr, state interpreter.EvalState) ast.Expr {
	if e.Kind() != ast.CallKind || e.AsCall().FunctionName() != operators.LogicalAnd && e.AsCall().FunctionName() != operators.LogicalOr {
		return e
	}
	for _, part := range e.AsCall().Args() {
		if value, known := state.Value(part.ID()); known && value == types.False {
			return falsePart(part, state)
		}
	}
	return e
}

// checkParents evaluates an expression for each parent.
func checkParents(ctx context.Context, text string, parents []Parent) outcome {
	e, err := overParents.compile(text)
	if err != nil {
		return unknown("%v", err)
	}
	result := passed()
	for _, p := range parents {
		is, why, err := e.evaluate(ctx, p.variables())
		switch {
		case ctx.Err() != nil:
			return unknown("it took more than %s for %d parents", timeout, len(parents))
		case err != nil && p.Before == nil && strings.Contains(err.Error(), childrenBefore):
			err = errors.New("how many children it had before is kept for at most 500 parents, which had the edit when their step began")
			fallthrough
		case err != nil:
			result = unknown("%s: %s: %v", p.Name, e, err)
		case !is:
			return failed("%s: %s", p.Name, why)
		}
	}
	return result
}

func (p *Parent) variables() map[string]any {
	children := make([]any, len(p.Children))
	for i, child := range p.Children {
		children[i] = child.Object
	}
	all := map[string]any{"parent": p.Object.Object, "children": children}
	if p.Before != nil {
		all[childrenBefore] = *p.Before
	}
	return all
}
