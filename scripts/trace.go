package scripts

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// tracedEdit is the trace of a content, which goes on when it is previewed or tested again.
type tracedEdit struct {
	content fingerprint
	span    trace.SpanContext
}

// tracedEdit returns the trace of a content, if it has one.
func (t *Tree) tracedEdit(content fingerprint) trace.SpanContext {
	if t.traced.content != content {
		return trace.SpanContext{}
	}
	return t.traced.span
}

// Outcomes of edits in traces.
const (
	outcomeServes     = "serves"
	outcomeHeld       = "held"
	outcomeFailed     = "failed"
	outcomePostponed  = "postponed"
	outcomeSuperseded = "superseded"
)

// endTrace ends the span of an edit that was loaded, tested or previewed, with what came of it.
func (t *Tree) endTrace(ctx context.Context, content fingerprint) {
	span := tracing.Started(ctx)
	if !span.SpanContext().IsValid() {
		return
	}
	if t.traced.content != content {
		t.traced = tracedEdit{content, span.SpanContext()}
	}
	state, outcome := t.State(), outcomePostponed
	switch {
	case state.Desired != content.id():
		outcome = outcomeSuperseded
	case len(state.Problems) > 0:
		outcome = outcomeFailed
		tracing.Fail(span, state.Problems[0].Reason())
	case state.Held != "":
		outcome = outcomeHeld
	case state.Loaded == state.Desired:
		outcome = outcomeServes
	}
	span.SetAttributes(
		tracing.Definition.String(t.spec.Definition), tracing.Revision.String(content.id().Short()), tracing.Outcome.String(outcome),
	)
	span.End()
}
