package otlp

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sys/unix"

	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

type accepting struct{}

func (accepting) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
}

// BenchmarkSpansOfPass measures all spans of a pass that calls a hook and sends six requests, encoded and sent to a collector that takes
// them: run it with -cpu 1, so that the time of the exporter is in the figure.
func BenchmarkSpansOfPass(b *testing.B) {
	c, err := environment(getenv(map[string]string{"EXPORTER_OTLP_ENDPOINT": "http://collector"})).config()
	if err != nil {
		b.Fatal(err)
	}
	sender := newClient(c, "libretto/v1")
	sender.http.Transport = accepting{}
	tracer, flush := export(sender, "v1", logr.Discard())
	requests := tracing.Requests(accepting{})
	b.ReportAllocs()
	var before, after unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &before)
	for b.Loop() {
		ctx := tracing.Begin(b.Context(), tracer, tracing.Reconcile, time.Now(), trace.SpanContext{})
		_, hook := tracing.Start(ctx, tracing.HookPrefix+"sync", trace.SpanKindInternal)
		hook.SetAttributes(tracing.Definition.String("CompositeController hello"), tracing.Hook.String("sync"), tracing.Engine.String("JavaScript"))
		hook.End()
		for range 6 {
			send(ctx, b, requests)
		}
		root := tracing.Started(ctx)
		root.SetAttributes(
			tracing.Definition.String("CompositeController hello"), tracing.Outcome.String("success"), tracing.ObjectKind.String("Hello"),
			tracing.ObjectName.String("world"), tracing.ObjectUID.String("7f3b3c43-6e0e-4e0e-9a4b-000000000000"), tracing.Revision.String("0123456789abcdef"))
		root.End()
	}
	flush()
	_ = unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &after)
	b.ReportMetric(float64(after.Nano()-before.Nano())/float64(b.N), "cpu-ns/op")
}

func send(ctx context.Context, b *testing.B, requests http.RoundTripper) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, "https://api/apis/apps/v1/namespaces/a/deployments/web", nil)
	if err != nil {
		b.Fatal(err)
	}
	response, err := requests.RoundTrip(request)
	if err != nil {
		b.Fatal(err)
	}
	response.Body.Close()
}
