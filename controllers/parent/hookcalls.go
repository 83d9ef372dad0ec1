package parent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
)

// defaultTimeout bounds a call to a hook for which the definition says nothing.
const defaultTimeout = 10 * time.Second

// Programs are what answers the hooks of a definition, all of one revision.
type Programs struct {
	// Revision changes whenever a program does.
	Revision string
	ByHook   map[string]engines.Program
}

// ask puts the variant's questions to the hooks, side by side, and makes the
// desired state of their answers.
func (p *pass) ask(ctx context.Context) (variant.Desired, error) {
	calls, err := p.config.Variant.Calls(p.observed)
	if err != nil {
		return variant.Desired{}, err
	}
	answers := make([]variant.Answer, len(calls))
	var group errgroup.Group
	group.SetLimit(max(p.env.Calls, 1))
	for i, call := range calls {
		group.Go(func() error {
			answers[i] = p.answer(ctx, call)
			return nil
		})
	}
	_ = group.Wait() // Each error is in its answer.
	p.passCache.keep(p.key, calls)
	desired, err := p.config.Variant.Desired(p.observed, answers)
	p.passCache.invalidate(p.key, desired.InvalidAnswers)
	return desired, err
}

// answer gives the answer to a call: an earlier one that still holds, or a new one.
func (p *pass) answer(ctx context.Context, call variant.Call) variant.Answer {
	now := p.env.Clock.Now()
	if body, expires, ok := p.passCache.recall(p.key, call, p.programs.Revision, now); ok {
		p.renewAt(expires)
		return variant.Answer{Call: call, Body: body}
	}
	response, err := p.call(ctx, call, now)
	if err == nil {
		expires := p.expiry(response, now)
		p.passCache.note(p.key, call, p.programs.Revision, response, expires)
		if len(call.Stamps) > 0 {
			p.renewAt(expires)
		}
	}
	return variant.Answer{Call: call, Body: response.Body, Err: variant.HookError(call.Hook, err)}
}

// renewAt notes when an answer that was used expires.
func (p *pass) renewAt(expires time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !expires.IsZero() && (p.renew.IsZero() || expires.Before(p.renew)) {
		p.renew = expires
	}
}

// call runs the hook's program once. A panic in an engine is a failure of this
// call alone.
func (p *pass) call(ctx context.Context, call variant.Call, now time.Time) (response engines.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.env.Log.Error(nil, "engine panicked", "definition", p.config.Definition, "hook", call.Hook, "panic", r, "stack", string(debug.Stack()))
			err = &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf("the engine panicked: %v: please report this as a bug of libretto", r)}
		}
	}()
	program := p.programs.ByHook[call.Hook]
	if program == nil {
		return engines.Response{}, &engines.Error{Kind: engines.Invalid, Message: "the hook is not loaded"}
	}
	timeout := p.config.Timeouts[call.Hook]
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	response, err = program.Run(ctx, engines.Call{
		Request: call.Request, Subject: call.Subject, Now: now, Seed: string(p.parent.GetUID()), Owner: p.config.Definition,
	})
	err = p.withTimeout(call.Hook, timeout, err)
	p.env.Metrics.called(p.config.Definition, call.Hook, p.env.Clock.Since(now), err)
	if err != nil && program.CircuitOpen() != nil {
		p.config.Changed()
	}
	if response.TimeDependent && call.Hook != customizeHook { // Its answer is asked for anew when it expires.
		p.nondeterministic.Store(true)
	}
	for _, line := range response.Logs {
		p.env.Log.V(1).Info(line, "definition", p.config.Definition, "hook", call.Hook, "parent", p.key.String())
	}
	return response, err
}

// told completes an engine's error by the time that the hook had, and puts the
// script's stack into the log: an event has no room for it.
func (p *pass) withTimeout(hook string, timeout time.Duration, err error) error {
	var e *engines.Error
	if !errors.As(err, &e) {
		return err
	}
	if len(e.Stack) > 0 {
		p.env.Log.Info("hook failed", "definition", p.config.Definition, "hook", hook, "parent", p.key.String(), "error", e.Detail())
	}
	if e.Kind != engines.Timeout {
		return err
	}
	return fmt.Errorf("%w, which is %s: see timeout in spec.hooks.%s", err, timeout, hook)
}

// expiry is when an answer is no longer used again: when it asked for, and for
// one that may differ by itself when its lifetime is over.
func (p *pass) expiry(response engines.Response, now time.Time) time.Time {
	var expires time.Time
	sooner := func(d time.Duration) {
		if t := now.Add(d); d > 0 && (expires.IsZero() || t.Before(expires)) {
			expires = t
		}
	}
	if fields, ok := response.Body.(map[string]any); ok {
		switch after := fields["resyncAfterSeconds"].(type) {
		case int64:
			sooner(time.Duration(after) * time.Second)
		case float64:
			sooner(time.Duration(after * float64(time.Second)))
		}
	}
	sooner(p.lifetime(response))
	return expires
}

// remoteLifetime is how long a server's answer is used again at the most, as metacontroller
// has it (section 2.4 of the specification): no revision tells of a server that was replaced.
const remoteLifetime = 20 * time.Minute

// lifetime is how long an answer may be used again, or zero for one that does not change by
// itself. Parents whose answers came together are given times that are up to a tenth apart.
func (p *pass) lifetime(response engines.Response) time.Duration {
	var most time.Duration
	if response.Remote {
		most = remoteLifetime
	}
	if response.TimeDependent {
		most = earlier(most, p.config.ResyncPeriod)
	}
	return spread(p.parent.GetUID(), most)
}
