package scripts

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics are the figures about scripts of a process. A nil *Metrics counts nothing.
type Metrics struct {
	revision *prometheus.GaugeVec
	errors   *prometheus.CounterVec
	duration prometheus.Histogram
}

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		revision: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "libretto_script_revision_info", Help: "The revision of the scripts that serves for a definition; always 1.",
		}, []string{"definition", "revision"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_script_load_errors_total",
			Help: "Times that scripts did not load, counting what is told: not each look at the same text.",
		}, []string{"definition"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_script_reload_duration_seconds", Help: "Time from the news of a change to the swap, waiting for more changes included.",
			Buckets: prometheus.ExponentialBuckets(0.001, 2.5, 11),
		}),
	}
	registry.MustRegister(m.revision, m.errors, m.duration)
	return m
}

// Serves notes which revision serves for a definition; empty means none.
func (m *Metrics) Serves(definition string, revision RevisionID) {
	if m == nil {
		return
	}
	m.revision.DeletePartialMatch(prometheus.Labels{"definition": definition})
	if revision != "" {
		m.revision.WithLabelValues(definition, revision.Short()).Set(1)
	}
}

// Forget drops the figures of a definition that is gone.
func (m *Metrics) Forget(definition string) {
	if m == nil {
		return
	}
	m.revision.DeletePartialMatch(prometheus.Labels{"definition": definition})
	m.errors.DeletePartialMatch(prometheus.Labels{"definition": definition})
}

func (m *Metrics) failed(definition string) {
	if m != nil {
		m.errors.WithLabelValues(definition).Inc()
	}
}

func (m *Metrics) reloaded(took time.Duration) {
	if m != nil {
		m.duration.Observe(took.Seconds())
	}
}
