package sandbox

import (
	"context"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// effect is what a task did to its workers.
type effect struct {
	// load is about the program: whether it could be loaded. call is about the object of the call.
	load, call outcome
	err        *engines.Error
}

// admit returns the flow of a task, or the error of one that may not run now: the circuit of its program or
// of its object is open, or its object is on probation and another one is being called about. What calls in the
// background cost is no fault of the objects that other calls are about. The returned
// function must be called at the end of a task that runs.
func (p *Pool) admit(ctx context.Context, prog *program, t task) (flow, func(effect), *engines.Error) {
	own := flow{owner: t.owner, background: t.call.Background}
	loads, calls := circuit{program: prog.name}, circuit{program: prog.name, origin: t.call.Origin}
	if own.background {
		calls.origin = engines.Origin{ID: "background:" + calls.origin.ID, Namespace: "background:"} // No namespace has a colon.
	}
	if refused := p.loads.allow(loads); refused != nil {
		return own, nil, refused
	}
	if t.kind == protocol.KindLoad {
		return own, func(e effect) { p.loads.report(loads, e.load, e.err) }, nil
	}
	if refused := p.calls.allow(calls); refused != nil {
		p.loads.report(loads, inconclusive, nil)
		return own, nil, refused
	}
	finish := func(e effect) {
		p.loads.report(loads, e.load, e.err)
		p.calls.report(calls, e.call, e.err)
	}
	if own.background || !p.calls.isOnProbation(calls) {
		return own, finish, nil
	}
	if wait := p.probation.enter(ctx, t.owner, t.call.Origin); wait > 0 {
		finish(effect{})
		return own, nil, errProbation(wait)
	}
	own.probation = true
	return own, func(e effect) { finish(e); p.probation.leave(t.owner) }, nil
}

// callEffect returns the effect of a call of a program that is loaded. It also costs a worker if it is
// interrupted at its deadline, or uses so much memory that the worker must be replaced.
func callEffect(o outcome, err *engines.Error, nearLimit bool) effect {
	switch {
	case o == inconclusive || err == nil:
	case err.Kind == engines.Timeout, err.Kind == engines.Exhausted && nearLimit:
		o = fatal
	}
	return effect{load: answered, call: o, err: err}
}
