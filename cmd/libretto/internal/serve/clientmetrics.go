package serve

import (
	"context"
	"net/url"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/tools/metrics"
)

// registerClientMetrics registers metrics of the requests to the API server, with the names that other
// controllers use.
func registerClientMetrics(registry prometheus.Registerer) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Requests to the API server, by status code and method.",
	}, []string{"code", "method"})
	latency := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "rest_client_request_duration_seconds", Help: "Time of a request to the API server, by method.",
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 15),
	}, []string{"method"})
	registry.MustRegister(requests, latency)
	metrics.Register(metrics.RegisterOpts{
		RequestResult:  requestCounter{requests},
		RequestLatency: requestTimer{latency},
	})
}

type requestCounter struct{ requests *prometheus.CounterVec }

func (c requestCounter) Increment(_ context.Context, code, method, _ string) {
	c.requests.WithLabelValues(code, method).Inc()
}

type requestTimer struct{ latency *prometheus.HistogramVec }

func (t requestTimer) Observe(_ context.Context, method string, _ url.URL, took time.Duration) {
	t.latency.WithLabelValues(method).Observe(took.Seconds())
}
