package serve

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/libretto-k8s/libretto/controllers/parent/metrics"
)

// TestExemplars checks that sampled traces are exemplars, for who asks for OpenMetrics, and that nothing else is served without traces.
func TestExemplars(t *testing.T) {
	s := &server{registry: prometheus.NewRegistry()}
	m := metrics.New(s.registry)
	span := trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}}
	unsampled := trace.NewSpanContext(span)
	span.TraceFlags = trace.FlagsSampled
	sampled := trace.NewSpanContext(span)
	get := func() string {
		request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
		request.Header.Set("Accept", "application/openmetrics-text;version=1.0.0")
		response := httptest.NewRecorder()
		s.metrics().ServeHTTP(response, request)
		return response.Body.String()
	}
	const exemplar = `trace_id="01000000000000000000000000000000"`
	m.ObserveReconcile(time.Second, unsampled)
	m.ObserveCall("CompositeController a", "sync", time.Second, nil, unsampled)
	s.tracer = noop.Tracer{}
	if text := get(); strings.Contains(text, exemplar) {
		t.Errorf("a trace that is not sampled is an exemplar:\n%s", text)
	}
	m.ObserveReconcile(time.Second, sampled)
	m.ObserveCall("CompositeController a", "sync", time.Second, nil, sampled)
	if text := get(); strings.Count(text, exemplar) != 2 || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("want an exemplar of a sync and of a call:\n%s", text)
	}
	s.tracer = nil
	if text := get(); strings.Contains(text, exemplar) || strings.Contains(text, "# EOF") {
		t.Errorf("without traces OpenMetrics is served:\n%s", text)
	}
}
