package parent

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"golang.org/x/sync/errgroup"

	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// defaultTimeout limits a call to a hook without a timeout in the definition.
const defaultTimeout = 10 * time.Second

// Programs are the loaded programs of a definition, all of one revision.
type Programs struct {
	// Revision changes whenever a program does.
	Revision string
	ByHook   map[string]engines.Program
	// Edit is the trace in which they were loaded, if there is one.
	Edit trace.SpanContext
}

// callHooks makes the variant's calls concurrently and returns the desired state. Only answers that
// the variant finds valid are remembered.
func (p *pass) callHooks(ctx context.Context) (variant.Desired, error) {
	calls, err := p.config.Variant.Calls(p.observed)
	if err != nil {
		return variant.Desired{}, err
	}
	if err := p.findOldPrograms(calls); err != nil {
		return variant.Desired{}, err
	}
	collector := answers.NewCollector(calls, p.env.maxAnswerBytes())
	var group errgroup.Group
	group.SetLimit(max(p.env.Calls, 1))
	for i, call := range calls {
		group.Go(func() error {
			if collector.HasRoomFor(i) {
				collector.Add(i, p.answer(ctx, call, collector))
			}
			return nil
		})
	}
	_ = group.Wait() // Each error is in its answer.
	p.passCache.RetainAnswers(p.key, calls)
	desired, err := p.config.Variant.Desired(p.observed, collector.All())
	p.used.read |= answers.InputsIn(append(engines.ReadSet{}, desired.ParentReads...))
	p.passCache.DropAnswers(p.key, desired.InvalidAnswers)
	if err == nil {
		p.passCache.RememberAnswers(p.key, p.programs.Revision, collector, desired.InvalidAnswers)
		p.maskAnswers(&desired)
	}
	return desired, err
}

// answer returns the answer to a call: a cached one, or a new one, with its size.
func (p *pass) answer(ctx context.Context, call variant.Call, collector *answers.Collector) answers.Answer {
	now := p.env.Clock.Now()
	if cached, ok := p.passCache.LookupAnswer(p.key, call, p.programs.Revision, now); ok {
		p.noteExpiry(cached.Expires)
		p.noteRead(cached.Read)
		p.used.knownAnswers.Add(1)
		return answers.Answer{Answer: variant.Answer{Call: call, Body: cached.Body}, Size: cached.Size}
	}
	if busy := collector.BusyError(); busy != nil {
		return answers.Answer{Answer: variant.Answer{Call: call, Err: busy}}
	}
	response, err := p.call(ctx, call, now)
	p.noteRead(answers.InputsIn(response.Read))
	if err != nil {
		return answers.Answer{Answer: variant.Answer{Call: call, Body: response.Body, Err: variant.HookError(call.Hook, err)}}
	}
	expires := p.expiry(response, now)
	if len(call.Stamps) > 0 {
		p.noteExpiry(expires)
	}
	return answers.Answer{
		Answer: variant.Answer{Call: call, Body: response.Body}, Size: collector.SizeOf(call, response.Body),
		IsNew: true, Read: response.Read, Expires: expires,
	}
}

// noteExpiry records when a used answer expires.
func (p *pass) noteExpiry(expires time.Time) {
	p.used.mu.Lock()
	defer p.used.mu.Unlock()
	if !expires.IsZero() && (p.due.answers.IsZero() || expires.Before(p.due.answers)) {
		p.due.answers = expires
	}
}

// call runs the hook's program once. A panic in an engine fails this call alone.
func (p *pass) call(ctx context.Context, call variant.Call, now time.Time) (response engines.Response, err error) {
	defer func() {
		if r := recover(); r != nil {
			p.env.Log.Error(nil, "engine panicked", "definition", p.config.Definition, "hook", call.Hook, "panic", r, "stack", string(debug.Stack()))
			err = &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf("the engine panicked: %v: please report this as a bug of libretto", r)}
		}
	}()
	program, err := p.programOf(call)
	if err != nil {
		return engines.Response{}, err
	}
	timeout := p.config.Timeouts[call.Hook]
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := engines.WithTimeout(ctx, timeout)
	defer cancel()
	ctx, span := p.startHook(ctx, call.Hook)
	asked := engines.Call{
		Request: call.Request, Subject: call.Subject, Now: now, Seed: string(p.parent.GetUID()), Owner: p.config.Definition,
		Origin: p.origin(call),
	}
	response, err = program.Run(ctx, asked)
	endHook(span, err)
	err = withTimeout(call.Hook, timeout, bounded(maskSecrets(err, call.Request)))
	if observer := observerOf(ctx); observer != nil {
		observer.Called(ctx, call.Hook, asked, response, err)
	}
	p.env.Metrics.ObserveCall(p.config.Definition, call.Hook, p.env.Clock.Since(now), err, span.SpanContext())
	if err != nil && program.CircuitOpen() != nil {
		p.config.Changed()
	}
	if response.TimeDependent && call.Hook != related.Hook { // Its answer has an expiry instead.
		p.used.nondeterministic.Store(true)
	}
	p.holdConsole(call.Hook, p.maskConsole(call, response.Logs), err != nil)
	if err == nil {
		p.logAnswer(call, response.Body)
	}
	return response, err
}

// startHook starts the span of a call.
func (p *pass) startHook(ctx context.Context, hook string) (context.Context, trace.Span) {
	if p.env.Tracer == nil {
		return ctx, noop.Span{} // Without a name, which takes memory.
	}
	ctx, span := tracing.Start(ctx, tracing.HookPrefix+hook, trace.SpanKindInternal)
	if span.IsRecording() {
		span.SetAttributes(tracing.Definition.String(p.config.Definition), tracing.Hook.String(hook))
	}
	return ctx, span
}

// endHook ends the span of a call.
func endHook(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		tracing.Fail(span, engines.KindOf(err).Reason())
	}
	span.End()
}

// origin returns the object that a call is about. An input is one for each parent, because the
// parent has a part in what the hook makes of it.
func (p *pass) origin(call variant.Call) engines.Origin {
	uid := string(p.parent.GetUID())
	if call.Origin.ID == "" {
		return engines.Origin{ID: uid, Namespace: p.parent.GetNamespace()}
	}
	return engines.Origin{ID: uid + "/" + call.Origin.ID, Namespace: call.Origin.Namespace}
}

// withTimeout adds the hook's timeout to an engine's error about it.
func withTimeout(hook string, timeout time.Duration, err error) error {
	var e *engines.Error
	if !errors.As(err, &e) {
		return err
	}
	if e.Kind != engines.Timeout || errors.Is(err, engines.ErrBackoff) {
		return err
	}
	return fmt.Errorf("%w, which is %s: see timeout in spec.hooks.%s", err, timeout, hook)
}

// expiry returns when an answer can no longer be reused: after resyncAfterSeconds or its
// lifetime, whichever is shorter, or zero for never.
func (p *pass) expiry(response engines.Response, now time.Time) time.Time {
	lifetime := p.lifetime(response)
	if fields, ok := response.Body.(map[string]any); ok {
		after, _ := variant.ResyncAfter(fields["resyncAfterSeconds"])
		if after > 0 {
			lifetime = variant.Earlier(lifetime, max(time.Duration(after*float64(time.Second)), variant.MinLifetime))
		}
	}
	if lifetime <= 0 {
		return time.Time{}
	}
	return now.Add(lifetime)
}

// remoteLifetime limits the reuse of a server's answer, as in metacontroller (section 2.4 of the
// specification): no revision shows that a server was replaced.
const remoteLifetime = 20 * time.Minute

// lifetime returns how long an answer may be reused, or zero for one that does not change by
// itself. It has a jitter by UID, so that answers of the same age do not expire at once.
func (p *pass) lifetime(response engines.Response) time.Duration {
	var most time.Duration
	if response.Remote {
		most = remoteLifetime
	}
	if response.TimeDependent {
		most = variant.Earlier(most, p.config.ResyncPeriod)
	}
	return jitter(p.parent.GetUID(), most)
}

// ErrProgramsLoading is Revisions.ProgramsOf's error for a revision that is being loaded.
var ErrProgramsLoading = errors.New("the scripts are being loaded")

// oldPrograms are the programs of another revision of the scripts, or why there are none.
type oldPrograms struct {
	byHook map[string]engines.Program
	err    error
}

// findOldPrograms finds the programs of the other revisions that calls name. It returns ErrLater, before any call is made, if some are
// being loaded. Where there is no history of scripts, the programs that serve answer all calls.
func (p *pass) findOldPrograms(calls []variant.Call) error {
	p.oldPrograms = map[string]oldPrograms{}
	if p.config.Revisions.ProgramsOf == nil {
		return nil
	}
	for _, call := range calls {
		id := call.ScriptRevision
		if _, known := p.oldPrograms[id]; id == "" || known {
			continue
		}
		programs, err := p.config.Revisions.ProgramsOf(id)
		if errors.Is(err, ErrProgramsLoading) {
			return fmt.Errorf("%w: revision %.16s of the scripts, by which some children were made, is being loaded", controller.ErrLater, id)
		}
		p.oldPrograms[id] = oldPrograms{programs.ByHook, err}
	}
	return nil
}

// programOf returns the program that answers a call.
func (p *pass) programOf(call variant.Call) (engines.Program, error) {
	byHook := p.programs.ByHook
	if old, isOld := p.oldPrograms[call.ScriptRevision]; isOld {
		if old.err != nil {
			return nil, &engines.Error{Kind: engines.Invalid,
				Message: fmt.Sprintf("revision %.16s of the scripts: %v", call.ScriptRevision, old.err)}
		}
		byHook = old.byHook
	}
	if program := byHook[call.Hook]; program != nil {
		return program, nil
	}
	return nil, &engines.Error{Kind: engines.Invalid, Message: "the hook is not loaded"}
}
