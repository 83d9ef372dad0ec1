package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// task is something to be done with a program.
type task struct {
	owner string
	kind  uint64
	call  engines.Call
	// whole leaves nothing of the call out, whatever the worker has of it.
	whole bool
}

// attempts is how often a task is given to another worker because the one it was given to was dead already.
const attempts = 3

// run does the task in a worker, unless the program is parked. Every error is an *engines.Error.
func (p *Pool) run(ctx context.Context, of *program, t task) (protocol.Answer, error) {
	began := time.Now()
	if ctx.Err() != nil {
		return protocol.Answer{}, engines.Ended(ctx)
	}
	if refused := p.breaker.enter(of.name); refused != nil {
		p.config.Metrics.answered(of.engine, "parked", 0)
		return protocol.Answer{}, refused
	}
	ctx, release := context.WithTimeout(ctx, longest)
	defer release()
	answer, o, err := p.try(ctx, of, t)
	p.breaker.left(of.name, o, err)
	p.config.Metrics.answered(of.engine, result(err), time.Since(began))
	if err != nil {
		return answer, err
	}
	return answer, nil
}

func result(err *engines.Error) string {
	if err == nil {
		return "success"
	}
	return err.Kind.Reason()
}

// try does the task in one worker after another, until one was alive to get it.
func (p *Pool) try(ctx context.Context, of *program, t task) (protocol.Answer, outcome, *engines.Error) {
	var last error
	home := p.homeOf(t.call.Seed)
	for range attempts {
		worker, err := p.take(ctx, t.owner, func(w *process) int { return w.fit(of, home) })
		if err != nil {
			return protocol.Answer{}, untold, unserved(ctx, err)
		}
		answer, o, err := p.with(ctx, worker, of, t)
		if !errors.Is(err, errUnsent) && !errors.Is(err, errMisread) {
			return answer, o, asError(err)
		}
		last, t.whole = err, true
	}
	return protocol.Answer{}, untold, &engines.Error{Kind: engines.Failed, Message: "script workers fail before they can be used: " + last.Error(), Err: last}
}

// with does the task in that worker, and gives it back.
func (p *Pool) with(ctx context.Context, worker *process, of *program, t task) (protocol.Answer, outcome, error) {
	defer p.giveBack(worker, t.owner)
	if t.kind == protocol.KindLoad || !worker.programs.has(of.name) {
		answer, o, err := worker.load(ctx, of)
		if err != nil || t.kind == protocol.KindLoad {
			return answer, o, err
		}
	}
	return worker.call(ctx, of, t.call, t.whole)
}

// asError is err as what it always is, without making a nil pointer an error.
func asError(err error) *engines.Error {
	var e *engines.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &e):
		return e
	default:
		return &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
}

// unserved is the error of a task that got no worker.
func unserved(ctx context.Context, err error) *engines.Error {
	if ctx.Err() == nil {
		return &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
	e := engines.Ended(ctx)
	if e.Kind == engines.Timeout {
		e.Message = "no script worker was free before the deadline: --script-workers sets how many there are"
	}
	return e
}
