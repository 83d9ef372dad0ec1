package jsonnet

import (
	"context"
	"errors"
	"slices"
	"strings"

	vm "github.com/google/go-jsonnet"
	"github.com/google/go-jsonnet/ast"

	"github.com/libretto-k8s/libretto/engines"
)

// program is the linked script and the expression that calls the hook. It is shared by all calls.
type program struct {
	engines.ProgramBase
	stoppable bool
	script    *engines.Script
	linked    *linked
	external  map[string]ast.Node
	root      ast.Node
	// ofParent is what the hook may read of the parent, by its source. Nil means all.
	ofParent engines.ReadSet
	// outline is nil unless the script asks for it.
	outline *engines.Outline
}

// Outline returns what the script does.
func (p *program) Outline() *engines.Outline { return p.outline }

// Run answers one call in a VM of its own. With an error, too, the response holds
// what was logged.
func (p *program) Run(ctx context.Context, given engines.Call) (engines.Response, error) {
	c := p.newCall(given)
	c.interrupter.counts = p.linked.coverage.start()
	body, err := c.evaluate(ctx, p.root)
	response := engines.Response{Body: body, Logs: c.trace.Lines, Coverage: c.interrupter.counts.reached()}
	if err == nil {
		response.Read = p.refine(c.reads.Set())
	}
	return response, err
}

// Warnings returns the imports of files that are not there.
func (p *program) Warnings() []*engines.Error { return p.linked.missing }

// Files returns the entry and what it imports. Code has been parsed.
func (p *program) Files() []engines.UsedFile {
	var files []engines.UsedFile
	for _, path := range p.linked.paths() {
		_, ofCode := p.linked.files[path]
		files = append(files, engines.UsedFile{Path: path, Checked: ofCode})
	}
	return files
}

// CoveragePoints returns the expressions and outcomes of decisions that calls count.
func (p *program) CoveragePoints() []engines.CoveragePoint {
	if p.linked.coverage == nil {
		return nil
	}
	return p.linked.coverage.points
}

// call is one evaluation, and what it reads and leaves. Nothing in it outlives it.
type call struct {
	program     *program
	input       engines.Call
	reads       engines.Reads
	trace       trace
	interrupter interrupter
	rounded     engines.Rounded
	answer      any
	// failure is why the answer could not be taken.
	failure error
}

func (p *program) newCall(given engines.Call) *call {
	return &call{program: p, input: given}
}

// evaluate returns the answer that the expression hands on. Every error that it
// returns is an *engines.Error.
func (c *call) evaluate(ctx context.Context, root ast.Node) (any, error) {
	if ctx.Err() != nil {
		return nil, engines.Ended(ctx)
	}
	stop := context.AfterFunc(ctx, c.interrupter.stop)
	defer stop()
	_, err := c.newVM().Evaluate(root)
	switch {
	case c.failure != nil:
		return nil, c.failure
	case err != nil:
		return nil, c.toError(ctx, err)
	default:
		return c.answer, nil
	}
}

// newVM makes the VM, which knows no files but those of the tree.
func (c *call) newVM() *vm.VM {
	m := vm.MakeVM()
	m.MaxStack = maxCallDepth
	m.Importer(&importer{linked: c.program.linked, vm: m, filled: map[string]bool{}})
	m.SetTraceOut(&c.trace)
	for _, f := range natives {
		m.NativeFunction(f)
	}
	for _, f := range c.natives() {
		m.NativeFunction(f)
	}
	for name, value := range c.program.external {
		m.ExtNode(name, value)
	}
	if c.program.stoppable {
		c.interrupter.install(m)
	}
	return m
}

// natives returns the doors between the script and this call.
func (c *call) natives() []*vm.NativeFunction {
	return []*vm.NativeFunction{
		{Name: "$fields", Func: c.fields},
		{Name: "$field", Params: ast.Identifiers{"name"}, Func: c.field},
		{Name: "$place", Params: ast.Identifiers{"path"}, Func: c.place},
		{Name: "$answer", Params: ast.Identifiers{"value"}, Func: c.receiveAnswer},
	}
}

const parametersField = "parameters"

// fields names those of the request, which the VM asks for when the script looks at them.
func (c *call) fields([]any) (any, error) {
	names := []any{}
	for name := range c.input.Request {
		if name != parametersField {
			names = append(names, name)
		}
	}
	_, own := c.input.Request[parametersField]
	if own || c.program.script.Parameters != nil {
		names = append(names, parametersField)
	}
	slices.SortFunc(names, func(a, b any) int { return strings.Compare(a.(string), b.(string)) })
	return names, nil
}

// field returns one of the request's. The VM copies what it is given.
func (c *call) field(args []any) (any, error) {
	name, _ := args[0].(string)
	if name == parametersField && c.program.script.Parameters != nil {
		c.rounded.NoteAll(c.program.script.Parameters)
		return c.program.script.Parameters, nil
	}
	value := c.input.Request[name]
	c.rounded.NoteAll(value)
	c.reads.Field(name, value).All()
	return value, nil
}

// receiveAnswer receives the answer, which is the VM's own copy.
func (c *call) receiveAnswer(args []any) (any, error) {
	x := exporter{Budget: engines.MaxResponseBytes, rounded: &c.rounded}
	c.answer, c.failure = x.value(args[0])
	var problem *engines.Error
	if errors.As(c.failure, &problem) && problem.Kind == engines.BadResponse {
		slices.Reverse(x.path)
		c.failure = x.path.Errorf("%s", problem.Message)
	}
	return nil, c.failure
}
