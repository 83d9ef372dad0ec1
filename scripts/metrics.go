package scripts

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

// Metrics are the figures about scripts of a process. A nil *Metrics counts nothing.
type Metrics struct {
	revision *prometheus.GaugeVec
	errors   *prometheus.CounterVec
	duration prometheus.Histogram
	tests    *prometheus.CounterVec
	testTime prometheus.Histogram
	previews *prometheus.CounterVec
	// previewTime is without those that approval made needless.
	previewTime prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		revision: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: definitionmetrics.Prefix + "script_revision_info", Help: "The revision of the scripts that serves for a definition; always 1.",
		}, definitionmetrics.Labels("revision")),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "script_load_errors_total",
			Help: "Times that scripts did not load, counting what is reported: not each look at the same text.",
		}, definitionmetrics.Labels()),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_script_reload_duration_seconds", Help: "Time from the news of a change to the swap, waiting for more changes included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11),
		}),
		tests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "script_tests_total",
			Help: "Runs of the tests that come with scripts, by result: passed, failed, timedOut, error (not run), canceled (a newer text came).",
		}, definitionmetrics.Labels("result")),
		testTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_script_test_duration_seconds", Help: "Time of a run of the tests of a text, waiting for those of others included.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2.5, 10),
		}),
		previews: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "script_previews_total",
			Help: "Previews of revisions before they take over, by result: passed, held, unknown (of some parents), approved (by name, without one).",
		}, definitionmetrics.Labels("result")),
		previewTime: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_script_preview_duration_seconds", Help: "Time of a preview of a revision before it takes over.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 12),
		}),
	}
	registry.MustRegister(m.revision, m.errors, m.duration, m.tests, m.testTime, m.previews, m.previewTime)
	return m
}

// Begin makes the counters of what goes wrong in a definition exist, so that their first increase is seen.
func (m *Metrics) Begin(definition string) {
	if m == nil {
		return
	}
	m.errors.WithLabelValues(definitionmetrics.Values(definition)...)
	m.previews.WithLabelValues(definitionmetrics.Values(definition, previewHeld)...)
}

// SetServing notes which revision serves for a definition; empty means none.
func (m *Metrics) SetServing(definition string, revision RevisionID) {
	if m == nil {
		return
	}
	m.revision.DeletePartialMatch(definitionmetrics.Selector(definition))
	if revision != "" {
		m.revision.WithLabelValues(definitionmetrics.Values(definition, revision.Short())...).Set(1)
	}
}

// Forget drops the figures of a definition that is gone.
func (m *Metrics) Forget(definition string) {
	if m == nil {
		return
	}
	labels := definitionmetrics.Selector(definition)
	m.revision.DeletePartialMatch(labels)
	m.errors.DeletePartialMatch(labels)
	m.tests.DeletePartialMatch(labels)
	m.previews.DeletePartialMatch(labels)
}

func (m *Metrics) failed(definition string) {
	if m != nil {
		m.errors.WithLabelValues(definitionmetrics.Values(definition)...).Inc()
	}
}

func (m *Metrics) reloaded(took time.Duration) {
	if m != nil {
		m.duration.Observe(took.Seconds())
	}
}

func (m *Metrics) tested(definition, result string, took time.Duration) {
	if m != nil {
		for _, each := range []string{resultFailed, resultTimedOut, resultError} { // Few definitions have tests.
			m.tests.WithLabelValues(definitionmetrics.Values(definition, each)...)
		}
		m.tests.WithLabelValues(definitionmetrics.Values(definition, result)...).Inc()
		m.testTime.Observe(took.Seconds())
	}
}

func (m *Metrics) previewed(definition, result string, took time.Duration) {
	if m == nil {
		return
	}
	m.previews.WithLabelValues(definitionmetrics.Values(definition, result)...).Inc()
	if result != previewApproved {
		m.previewTime.Observe(took.Seconds())
	}
}
