package javascript

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"sync/atomic"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// program is the compiled bundle and where in it the hook is. It is shared by all calls.
type program struct {
	engines.ProgramBase
	code     *goja.Program
	globals  []string // are the parts of globals.js that it may use
	script   *engines.Script
	tree     tree
	export   string
	warnings []*engines.Error
	ofTests  bool
	// parameters is what to do about a hook that takes more than one, or "".
	parameters string
	// idle is the realm of the next call. It is nil while a call has it, and if there is none.
	idle atomic.Pointer[realm]
	// points are what calls mark, before those of files that the script does not import. Nil means that they mark none.
	points []engines.CoveragePoint
	// outline is nil unless the script asks for it.
	outline *engines.Outline
}

// Outline returns what the bundle does.
func (p *program) Outline() *engines.Outline { return p.outline }

// CoveragePoints returns the statements and outcomes of decisions in the author's files.
func (p *program) CoveragePoints() []engines.CoveragePoint { return p.points }

// Warnings returns the errors of modules that packages in the tree require and that are missing.
func (p *program) Warnings() []*engines.Error { return p.warnings }

// Run answers one call in a runtime that it has to itself. Parts of the request that the
// script returns unchanged are not copied.
// The response has the log even with an error.
func (p *program) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	i, err := p.realm(ctx, call)
	var body any
	if err == nil {
		body, err = i.guard(ctx, func() (any, error) {
			if p.script.Signature == engines.HTTPContext {
				return p.runContext(i, call)
			}
			return i.answer(i.requestView(p.script.WithParameters(call.Request)))
		})
	}
	p.explained(err, cmp.Or(p.hint(err), i.hint(err, call.Request)))
	response := engines.Response{Body: body, TimeDependent: i.readClock, Logs: i.console.Lines, Coverage: p.reached(i.isolate)}
	if err == nil {
		response.Read = i.request.reads.Set()
	}
	p.release(i, err)
	return response, err
}

// ofUndefined matches messages about a value that is not there.
var ofUndefined = regexp.MustCompile(`^TypeError: .*(?:undefined|coercible|not iterable)`)

// hint returns advice about the error of a function that expects a context, or "".
func (p *program) hint(err error) string {
	var e *engines.Error
	if p.parameters != "" && errors.As(err, &e) && ofUndefined.MatchString(e.Message) {
		return p.parameters
	}
	if p.script.Signature != engines.HTTPContext && errors.As(err, &e) && e.Message == "TypeError: Cannot read property 'body' of undefined" {
		return "the function is given the request itself: for context.request.body set script.signature of this hook to HTTPContext"
	}
	return ""
}

// answer calls the function with argument and converts its result.
func (r *realm) answer(argument goja.Value) (any, error) {
	result, err := r.call(goja.Undefined(), argument)
	if err != nil {
		return nil, err
	}
	if result, err = r.promiseResult(result); err != nil {
		return nil, err
	}
	return r.export(result)
}

// promiseResult returns the value of a promise. All that can settle one has run by now,
// because the runtime runs its jobs before it returns.
func (i *isolate) promiseResult(v goja.Value) (goja.Value, error) {
	if v == nil || v.ExportType() != promiseType {
		return v, nil
	}
	promise := v.Export().(*goja.Promise)
	switch promise.State() {
	case goja.PromiseStateFulfilled:
		return promise.Result(), nil
	case goja.PromiseStateRejected:
		return nil, i.thrownError(promise.Result(), nil)
	default:
		return nil, &engines.Error{Kind: engines.Failed,
			Message: "the promise never settles: there are no timers and no network here that could settle it"}
	}
}
