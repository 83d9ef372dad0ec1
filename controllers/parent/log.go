package parent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// maxLoggedAnswer is how many bytes of an answer are logged.
const maxLoggedAnswer = 8 << 10

// FailureDetails returns what a log has of the error of a pass besides its message: the stack of the script, which is too long
// for an event. Of several failed calls it is that of the first.
func FailureDetails(err error) []any {
	var e *engines.Error
	if !errors.As(err, &e) || len(e.Stack) == 0 {
		return nil
	}
	return []any{"stack", strings.Join(e.Stack, "\n")}
}

// logged returns what the log has of a call.
func (p *pass) logged(call variant.Call) []any {
	values := []any{"definition", p.config.Definition, "hook", call.Hook, "parent", p.key.String()}
	if call.Subject != "" {
		values = append(values, "subject", call.Subject)
	}
	return values
}

// logAnswer logs what a hook has answered, without what is secret in it: the contents of Secrets, also of those in the request, and what
// the schemas of objects call a password.
func (p *pass) logAnswer(call variant.Call, body any) {
	log := p.env.Log.V(verbosity.Values)
	if !log.Enabled() {
		return
	}
	visible, _ := jsonvalue.Redact(nil, body, p.isSecretAnswer)
	text, _, err := jsonvalue.Text(visible, maxLoggedAnswer)
	if err != nil {
		text = err.Error()
	}
	log.Info("hook answered", append(p.logged(call), "answer", jsonvalue.Mask(text, secretTexts(call.Request)))...)
}

// isSecretAnswer reports whether a place in an answer is secret: in an object that is a Secret, or by its schema or that of the parent,
// whose status an answer may have.
func (p *pass) isSecretAnswer(path jsonvalue.Path) bool {
	schemas := p.env.Schemas
	if path.InSecret() || schemas == nil {
		return path.InSecret()
	}
	return schemas.Secret(p.source.Kind, path) || path.InObjects(func(apiVersion, kind string, path jsonvalue.Path) bool {
		return schemas.Secret(schema.FromAPIVersionAndKind(apiVersion, kind), path)
	})
}

// maskConsole returns what a call wrote to the console, without what the Secrets in its request hold.
func (p *pass) maskConsole(call variant.Call, lines []string) []string {
	if len(lines) == 0 || !p.env.Log.V(verbosity.Decisions).Enabled() {
		return lines
	}
	masker, masked := jsonvalue.NewMasker(secretTexts(call.Request)), make([]string, 0, len(lines))
	for _, line := range lines {
		masked = append(masked, masker.Mask(line))
	}
	return masked
}

// logEnd logs how the pass ended and when the next one is.
func (p *pass) logEnd(result controller.Result, err error) {
	log := p.env.Log.V(verbosity.Values)
	if err != nil || !log.Enabled() {
		return // The control loop logs errors.
	}
	values := []any{"definition", p.config.Definition, "parent", p.key.String(), "wrote", p.writes.any}
	if n := p.used.knownAnswers.Load(); n > 0 {
		values = append(values, "knownAnswers", n)
	}
	if result.RequeueAfter > 0 {
		values = append(values, "next", result.RequeueAfter.String())
	}
	if p.due.backoff > 0 {
		values = append(values, "backoff", p.due.backoff.String())
	}
	log.Info("parent synced", values...)
}

const (
	// childLevel is the log verbosity at which each written child is logged.
	childLevel = 1
	// diffLevel is the log verbosity at which changed values are logged. Secret values are masked.
	diffLevel = 4
)

// logChild counts a written child for logWrites, and logs it if it is to be seen.
func (p *pass) logChild(change apply.Change) {
	if p.writes.counts == nil {
		p.writes.counts = map[apply.Action]int{}
	}
	p.writes.counts[change.Action]++
	if log := p.env.Log.V(childLevel); log.Enabled() {
		log.Info("child written", "definition", p.config.Definition, "parent", p.key.String(),
			"action", string(change.Action), "child", change.Key.String())
	}
	if log := p.env.Log.V(diffLevel); log.Enabled() && isRewrite(change) {
		masker := p.masker()
		for _, diff := range change.Diffs() {
			log.Info("field of the child", "child", change.Key.String(), "change", masker.Mask(diff.String()))
		}
	}
}

// logWrites logs in one line how many children the pass has written, by action.
func (p *pass) logWrites() {
	if len(p.writes.counts) == 0 || !p.env.Log.Enabled() {
		return
	}
	values := []any{"definition", p.config.Definition, "parent", p.key.String()}
	for _, action := range slices.Sorted(maps.Keys(p.writes.counts)) {
		values = append(values, strings.ToLower(string(action)), p.writes.counts[action])
	}
	p.env.Log.Info("children written", values...)
}

// shortRevision is how much of a revision's name is shown, as in messages.
const shortRevision = 16

// beginTrace returns a context in which a sync that began then is traced, if any is.
func (r *shared) beginTrace(ctx context.Context, began time.Time) context.Context {
	return tracing.Begin(ctx, r.env.Tracer, tracing.Reconcile, began, trace.SpanContext{})
}

// endTrace ends the span of a sync, which has one if it called a hook, sent a request or failed, and returns its context for the metrics.
func (r *shared) endTrace(ctx context.Context, parent *unstructured.Unstructured, result controller.Result, err error) trace.SpanContext {
	span, outcome := tracing.Started(ctx), controller.Outcome(result, err)
	if err != nil && ctx.Err() == nil {
		span = tracing.Root(ctx)
	}
	if !span.IsRecording() {
		return span.SpanContext()
	}
	span.SetAttributes(
		tracing.Definition.String(r.config.Definition), tracing.Outcome.String(outcome), semconv.K8SNamespaceName(parent.GetNamespace()),
		tracing.ObjectKind.String(parent.GetKind()), tracing.ObjectName.String(parent.GetName()),
		tracing.ObjectUID.String(string(parent.GetUID())),
	)
	if err != nil && !errors.Is(err, controller.ErrLater) {
		tracing.Fail(span, failure.CauseOf(err).Reason)
	}
	span.End()
	return span.SpanContext()
}

// traceInputs notes in the span of the sync by which scripts it was made, with a link to the trace of their edit, and how many calls were
// not made because their answers are known.
func (p *pass) traceInputs(ctx context.Context) {
	span := tracing.Started(ctx)
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(
		tracing.Revision.String(p.programs.Revision[:min(len(p.programs.Revision), shortRevision)]),
		tracing.CachedCalls.Int(int(p.used.knownAnswers.Load())),
	)
	if p.programs.Edit.IsValid() {
		span.AddLink(trace.Link{SpanContext: p.programs.Edit})
	}
}
