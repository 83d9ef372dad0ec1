package sandbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/protocol"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// task is a call or load of a program.
type task struct {
	owner string
	kind  uint64
	call  engines.Call
	// limit is how much time of its own a worker has for it, and for loading the program before if it must.
	limit time.Duration
	// resendObjects sends objects again that the worker has.
	resendObjects bool
}

// maxAttempts is how many workers are tried if they turn out to be dead.
const maxAttempts = 3

// run does the task in a worker unless it is not admitted. Every error is an *engines.Error.
func (p *Pool) run(ctx context.Context, prog *program, t task) (protocol.Answer, error) {
	began := time.Now()
	ctx, t.limit = timeoutOf(ctx)
	if ctx.Err() != nil {
		return protocol.Answer{}, engines.Ended(ctx)
	}
	tracing.SetEngine(ctx, prog.engine)
	defer engines.PauseBudget(ctx)()
	f, finish, refused := p.admit(ctx, prog, t)
	if refused != nil {
		p.config.Metrics.observeCall(prog.engine, "parked", 0)
		return protocol.Answer{}, refused
	}
	answer, did := p.runWithRetry(ctx, prog, t, f)
	finish(did)
	if did.err != nil && did.err.Kind == engines.Busy && t.call.Background {
		did.err.RetryAfter = 0 // It is not made for a parent, which is synced again.
	}
	p.config.Metrics.observeCall(prog.engine, result(did.err), time.Since(began))
	if did.err != nil {
		return answer, did.err
	}
	return answer, nil
}

// timeoutOf returns how much time of its own a worker has for a question, and the context in which the question is asked. A deadline that
// is one by the wall holds in both ways.
func timeoutOf(ctx context.Context) (context.Context, time.Duration) {
	if unlimited, limit := engines.TimeoutOf(ctx); limit > 0 {
		return unlimited, limit
	}
	if deadline, ok := ctx.Deadline(); ok {
		return ctx, max(time.Until(deadline), 0)
	}
	return ctx, defaultTimeout
}

func result(err *engines.Error) string {
	if err == nil {
		return "success"
	}
	return err.Kind.Reason()
}

// runWithRetry does the task in one worker after another, until one was alive to receive it.
func (p *Pool) runWithRetry(ctx context.Context, prog *program, t task, f flow) (protocol.Answer, effect) {
	var last error
	preferred := p.preferredSlot(t.call.Seed)
	for range maxAttempts {
		worker, err := p.acquire(ctx, f, prog, t.kind, preferred)
		if err != nil {
			return protocol.Answer{}, effect{err: acquireError(ctx, err)}
		}
		answer, did, err := p.runOn(ctx, worker, prog, t, f)
		if !errors.Is(err, errNotSent) && !errors.Is(err, errUnreadable) {
			return answer, did
		}
		last, t.resendObjects = err, true
	}
	return protocol.Answer{}, effect{err: &engines.Error{
		Kind: engines.Failed, Message: "script workers fail before they can be used: " + last.Error(), Err: last,
	}}
}

// runOn does the task in that worker and releases it.
func (p *Pool) runOn(ctx context.Context, worker *process, prog *program, t task, f flow) (protocol.Answer, effect, error) {
	defer p.release(worker, f)
	if t.kind == protocol.KindLoad || !worker.caches.programs.has(prog.name) {
		answer, o, err := worker.load(ctx, prog, t.limit)
		if err != nil || t.kind == protocol.KindLoad {
			return answer, effect{load: o, err: toEngineError(err)}, err
		}
	}
	answer, o, err := worker.call(ctx, prog, t)
	return answer, callEffect(o, toEngineError(err), answer.NearLimit), err
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
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return busyError("no script worker was free: the host needs more CPU, or more workers (--script-workers)")
	case ctx.Err() != nil:
		return engines.Ended(ctx)
	default:
		return &engines.Error{Kind: engines.Failed, Message: err.Error(), Err: err}
	}
}

// logBusy logs that tasks get no worker, once a minute.
func (p *Pool) logBusy() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.busyLoggedAt) < time.Minute {
		return
	}
	p.busyLoggedAt = time.Now()
	p.config.Log.Info("calls wait long for a script worker: the host needs more CPU, or more workers (--script-workers)", "waiting",
		p.queue.len(), "workers", len(p.processes))
}

// busyError returns the error of a task for which the host had no time. It says nothing about the program.
func busyError(format string, args ...any) *engines.Error {
	return &engines.Error{Kind: engines.Busy, RetryAfter: time.Second, Message: fmt.Sprintf(format, args...), Err: context.DeadlineExceeded}
}
