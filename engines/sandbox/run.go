package sandbox

import (
	"context"
	"errors"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
)

// task is a call or load of a program.
type task struct {
	owner string
	kind  uint64
	call  engines.Call
	// resendObjects sends objects again that the worker has.
	resendObjects bool
}

// maxAttempts is how many workers are tried if they turn out to be dead.
const maxAttempts = 3

// run does the task in a worker unless it is not admitted. Every error is an *engines.Error.
func (p *Pool) run(ctx context.Context, prog *program, t task) (protocol.Answer, error) {
	began := time.Now()
	if ctx.Err() != nil {
		return protocol.Answer{}, engines.Ended(ctx)
	}
	f, finish, refused := p.admit(ctx, prog, t)
	if refused != nil {
		p.config.Metrics.observeCall(prog.engine, "parked", 0)
		return protocol.Answer{}, refused
	}
	ctx, release := context.WithTimeout(ctx, defaultTimeout)
	defer release()
	answer, did := p.runWithRetry(ctx, prog, t, f)
	finish(did)
	p.config.Metrics.observeCall(prog.engine, result(did.err), time.Since(began))
	if did.err != nil {
		return answer, did.err
	}
	return answer, nil
}

func result(err *engines.Error) string {
	if err == nil {
		return "success"
	}
	return err.Kind.Reason()
}

// runWithRetry does the task in one worker after another, until one was alive to receive it.
func (p *Pool) runWithRetry(ctx context.Context, prog *program, t task, f flow) (protocol.Answer, effect) {
	began := time.Now()
	var last error
	preferred := p.preferredSlot(t.call.Seed)
	for range maxAttempts {
		worker, err := p.acquire(ctx, f, prog, preferred)
		if err != nil {
			return protocol.Answer{}, effect{err: acquireError(ctx, err)}
		}
		answer, did, err := p.runOn(ctx, worker, prog, t, f, began)
		if !errors.Is(err, errNotSent) && !errors.Is(err, errUnreadable) {
			return answer, did
		}
		last, t.resendObjects = err, true
	}
	return protocol.Answer{}, effect{err: &engines.Error{
		Kind: engines.Failed, Message: "script workers fail before they can be used: " + last.Error(), Err: last,
	}}
}

// runOn does the task in that worker and releases it. The task has waited for the worker since began.
func (p *Pool) runOn(ctx context.Context, worker *process, prog *program, t task, f flow, began time.Time) (protocol.Answer, effect, error) {
	defer p.release(worker, f)
	start := time.Now()
	waited := start.Sub(began)
	if t.kind == protocol.KindLoad || !worker.programs.has(prog.name) {
		answer, o, err := worker.load(ctx, prog)
		if err != nil || t.kind == protocol.KindLoad {
			ran := time.Since(start)
			return answer, loadEffect(o, starved(toEngineError(err), waited, ran), waited, ran), err
		}
	}
	answer, o, err := worker.call(ctx, prog, t.call, t.resendObjects)
	ran := time.Since(start)
	return answer, callEffect(o, starved(toEngineError(err), waited, ran), answer.NearLimit, waited, ran), err
}

// starved returns the error of a call, which says so if the call had less time than it had waited for a worker.
func starved(err *engines.Error, waited, ran time.Duration) *engines.Error {
	if !isLate(err, waited, ran) {
		return err
	}
	late := *err
	late.Err = errors.Join(engines.ErrNoWorker, err.Err)
	return &late
}

// toEngineError returns err as an *engines.Error, or nil for nil.
func toEngineError(err error) *engines.Error {
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

// acquireError returns the error of a task that got no worker.
func acquireError(ctx context.Context, err error) *engines.Error {
	if ctx.Err() == nil {
		return &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
	e := engines.Ended(ctx)
	if e.Kind == engines.Timeout {
		e.Message = "no script worker was free before the deadline: --script-workers sets how many there are"
		e.Err = errors.Join(engines.ErrNoWorker, e.Err)
	}
	return e
}
