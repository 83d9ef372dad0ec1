package webhook

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// TestTraced checks that a server is told of the span of the request, and that this has no secret.
func TestTraced(t *testing.T) {
	var told string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		told = r.Header.Get("traceparent")
		http.Error(w, "swordfish", http.StatusTeapot)
	}))
	defer server.Close()
	exporter := tracetest.NewInMemoryExporter()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)).Tracer("test")
	ctx, hook := tracing.Start(
		tracing.Begin(t.Context(), tracer, tracing.Reconcile, time.Now(), trace.SpanContext{}), "hook sync", trace.SpanKindInternal)
	url := strings.Replace(server.URL, "://", "://me:swordfish@", 1) + "/sync?token=swordfish"
	program := compile(t, engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: url}})
	if _, err := program.Run(ctx, engines.Call{Request: map[string]any{}, Now: start}); err == nil {
		t.Error("418 is no failure")
	}
	hook.End()
	spans := exporter.GetSpans()
	if want := "00-" + spans[0].SpanContext.TraceID().String() + "-" + spans[0].SpanContext.SpanID().String() + "-01"; told != want {
		t.Errorf("the server was told %q, want %q", told, want)
	}
	got := map[string]string{}
	for _, attribute := range append(spans[0].Attributes, spans[1].Attributes...) {
		got[string(attribute.Key)] = attribute.Value.Emit()
	}
	want := map[string]string{
		"http.request.method": "POST", "url.full": server.URL + "/sync", "server.address": "127.0.0.1",
		"http.response.status_code": "418", "error.type": "418", "libretto.engine": "webhook",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the span of the request and that of the call have other attributes (-want +got):\n%s", diff)
	}
}
