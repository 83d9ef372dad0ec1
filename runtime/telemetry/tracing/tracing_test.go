package tracing

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

func newTracer(options ...sdktrace.TracerProviderOption) (trace.Tracer, *tracetest.InMemoryExporter) {
	exporter := tracetest.NewInMemoryExporter()
	return sdktrace.NewTracerProvider(append(options, sdktrace.WithSyncer(exporter))...).Tracer("test"), exporter
}

// TestRoot checks when the first span of a trace starts, and what is below it.
func TestRoot(t *testing.T) {
	tracer, exporter := newTracer()
	began := time.Unix(1000, 0)
	ctx := Begin(t.Context(), tracer, Reconcile, began, trace.SpanContext{})
	if Started(ctx).SpanContext().IsValid() {
		t.Error("the span starts before anything happens")
	}
	inner, first := Start(ctx, "first", trace.SpanKindInternal)
	_, second := Start(inner, "second", trace.SpanKindClient)
	second.End()
	first.End()
	Started(ctx).End()
	spans := exporter.GetSpans()
	if len(spans) != 3 || spans[0].Parent.SpanID() != spans[1].SpanContext.SpanID() || spans[1].Parent.SpanID() != spans[2].SpanContext.SpanID() {
		t.Fatalf("spans %+v, want each below the one before", spans)
	}
	if !spans[2].StartTime.Equal(began) || spans[2].Parent.IsValid() {
		t.Errorf("the first span starts at %s below %v", spans[2].StartTime, spans[2].Parent)
	}
	exporter.Reset()
	Root(Begin(t.Context(), tracer, Edit, began, spans[2].SpanContext)).End()
	if again := exporter.GetSpans()[0]; again.SpanContext.TraceID() != spans[2].SpanContext.TraceID() {
		t.Error("what goes on with a trace has another one")
	}
	exporter.Reset()
	untraced := Begin(ctx, nil, Reconcile, began, trace.SpanContext{})
	if _, span := Start(untraced, "a call of a preview", trace.SpanKindInternal); span.SpanContext().IsValid() {
		t.Error("work that is not traced has a span in that of which it is a part")
	}
}

// TestInject checks that servers are told of a trace also if it is not sampled, so that they don't begin another one.
func TestInject(t *testing.T) {
	for want, sampler := range map[string]sdktrace.Sampler{"-01": sdktrace.AlwaysSample(), "-00": sdktrace.NeverSample()} {
		tracer, _ := newTracer(sdktrace.WithSampler(sampler))
		ctx, _ := Start(Begin(t.Context(), tracer, Reconcile, time.Now(), trace.SpanContext{}), "x", trace.SpanKindClient)
		header := http.Header{}
		if Inject(ctx, header); !strings.HasSuffix(header.Get("traceparent"), want) {
			t.Errorf("traceparent %q, want one that ends in %s", header.Get("traceparent"), want)
		}
	}
	header := http.Header{}
	if Inject(t.Context(), header); len(header) > 0 {
		t.Errorf("without a trace there are headers: %v", header)
	}
}

type answering func() (*http.Response, error)

func (f answering) RoundTrip(*http.Request) (*http.Response, error) { return f() }

// TestRequests checks the spans of requests to the API server.
func TestRequests(t *testing.T) {
	errBoom := errors.New("boom")
	for _, c := range []struct {
		method, path string
		status       int
		want         string
	}{
		{"POST", "/api/v1/namespaces/a/configmaps?fieldManager=x", 201, "create configmaps: POST api configmaps a 201"},
		{"PUT", "/apis/apps/v1/namespaces/a/deployments/web", 409, "update deployments.apps: PUT api deployments.apps web a 409 409"},
		{"PATCH", "/apis/example.com/v1/things/t/status", 200, "patch things.example.com/status: PATCH api things.example.com/status t 200"},
		{"DELETE", "/api/v1/namespaces/a", 200, "delete namespaces: DELETE api namespaces a 200"},
		{"GET", "/api/v1/namespaces/a/status", 200, "get namespaces/status: GET api namespaces/status a 200"},
		{"GET", "/api/v1/pods", 0, "list pods: GET api pods *errors.errorString"},
		{"GET", "/openapi/v3", 200, "GET: GET api 200"},
	} {
		tracer, exporter := newTracer()
		ctx := Begin(t.Context(), tracer, Reconcile, time.Now(), trace.SpanContext{})
		transport := Requests(answering(func() (*http.Response, error) {
			if c.status == 0 {
				return nil, errBoom
			}
			return &http.Response{StatusCode: c.status, Body: http.NoBody}, nil
		}))
		request, err := http.NewRequestWithContext(ctx, c.method, "https://api"+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := transport.RoundTrip(request); err == nil {
			response.Body.Close()
		}
		span := exporter.GetSpans()[0]
		got := span.Name + ":"
		for _, attribute := range span.Attributes {
			got += " " + attribute.Value.Emit()
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.method, c.path, diff)
		}
	}
}

// TestUntracedAllocations checks that work that is not traced takes no memory for that.
func TestUntracedAllocations(t *testing.T) {
	header, ctx := http.Header{}, context.WithValue(t.Context(), t, 1)
	if n := testing.AllocsPerRun(100, func() {
		ctx := Begin(ctx, nil, Reconcile, time.Time{}, trace.SpanContext{})
		ctx, span := Start(ctx, WebhookCall, trace.SpanKindClient)
		SetEngine(ctx, "webhook")
		Inject(ctx, header)
		span.End()
		Started(ctx).End()
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

// TestReference checks that the reference has all names of spans and attributes.
func TestReference(t *testing.T) {
	reference, err := os.ReadFile("../../../docs/reference/traces.md")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	names := 0
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		name, _ := strconv.Unquote(literal.Value)
		if !strings.Contains(name, "/") {
			if names++; !strings.Contains(string(reference), "`"+name) {
				t.Errorf("docs/reference/traces.md does not have %q", name)
			}
		}
		return true
	})
	if names < 10 {
		t.Errorf("%d names were read", names)
	}
}
