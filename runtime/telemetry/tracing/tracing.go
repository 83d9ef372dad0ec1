// Package tracing has the spans of the host's work, by OpenTelemetry's API: when they start, and what their names and attributes are. What
// exports them is the process's: without a tracer nothing here does anything.
package tracing

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// root is the first span of a trace. It starts together with the first span below it, as of the time at which the work began, so that work
// that finds nothing to do has no trace.
type root struct {
	tracer trace.Tracer
	name   string
	parent context.Context
	began  time.Time

	mu   sync.Mutex
	span trace.Span // nil until it starts
}

type rootKey struct{}

// none records nothing.
var none trace.Span = noop.Span{}

// Begin returns a context for work that is traced if it comes to anything: in a trace of its own, or in the one of continued if that is
// valid. If tracer is nil, nothing of the work is traced, not even as part of other work.
func Begin(ctx context.Context, tracer trace.Tracer, name string, began time.Time, continued trace.SpanContext) context.Context {
	if tracer == nil {
		if rootOf(ctx) == nil {
			return ctx
		}
		return context.WithValue(ctx, rootKey{}, (*root)(nil))
	}
	r := &root{tracer: tracer, name: name, parent: ctx, began: began}
	if continued.IsValid() {
		r.parent = trace.ContextWithRemoteSpanContext(ctx, continued)
	}
	return context.WithValue(ctx, rootKey{}, r)
}

func rootOf(ctx context.Context) *root {
	r, _ := ctx.Value(rootKey{}).(*root)
	return r
}

// Root returns the first span of the work of ctx, which it starts if it has not started yet. It returns a span that records nothing if the
// work is not traced.
func Root(ctx context.Context) trace.Span {
	r := rootOf(ctx)
	if r == nil {
		return none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.span == nil {
		_, r.span = r.tracer.Start(r.parent, r.name, trace.WithTimestamp(r.began))
	}
	return r.span
}

// Started returns what Root does if that has started already, and else a span that records nothing.
func Started(ctx context.Context) trace.Span {
	r := rootOf(ctx)
	if r == nil {
		return none
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.span, none)
}

// Start starts a span below that of ctx. If the work of ctx is not traced, it returns ctx and a span that records nothing.
func Start(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	r := rootOf(ctx)
	if r == nil {
		return ctx, none
	}
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithSpan(ctx, Root(ctx))
	}
	return r.tracer.Start(ctx, name, trace.WithSpanKind(kind))
}

// SetEngine notes in the span of ctx which engine runs the call. Of several, as with a fallback, the last one counts.
func SetEngine(ctx context.Context, engine string) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.SetAttributes(Engine.String(engine))
	}
}

// Fail sets the status of a span to an error of that type. Messages are left out: they may quote objects.
func Fail(span trace.Span, errorType string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(errorType))
}

// Inject adds the header traceparent to a request if ctx has a span, sampled or not.
func Inject(ctx context.Context, header http.Header) {
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(header))
}

// Observe observes a value, with the trace that the span context is of as its exemplar if it is sampled.
func Observe(observer prometheus.Observer, value float64, of trace.SpanContext) {
	if with, ok := observer.(prometheus.ExemplarObserver); ok && of.IsSampled() {
		with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": of.TraceID().String(), "span_id": of.SpanID().String()})
		return
	}
	observer.Observe(value)
}
