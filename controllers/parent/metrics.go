package parent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/lru"
)

// Metrics are the metrics of all controllers of a process. A nil *Metrics records nothing.
type Metrics struct {
	calls      *prometheus.HistogramVec
	writes     *prometheus.CounterVec
	hotLoops   *prometheus.CounterVec
	events     *prometheus.CounterVec
	hostEvents *prometheus.CounterVec
}

// NewMetrics returns registered metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "libretto_hook_duration_seconds", Help: "Time of one call to a hook, by outcome: success or the reason of its failure.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}, []string{"definition", "hook", "outcome"}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_child_writes_total", Help: "Writes of children, by action and outcome: success or the kind of failure.",
		}, []string{"definition", "action", "outcome"}),
		hotLoops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_hot_loops_total", Help: "Hot loops that were slowed down: " +
				"children that are fought over or renamed in each sync, and statuses that never settle.",
		}, []string{"definition"}),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_hook_events_total", Help: "Events that hooks asked for, by outcome: emitted, repeated (the answer before had it too), " +
				"dropped (beyond the limits) or withheld (a child could not be written).",
		}, []string{"definition", "outcome"}),
		hostEvents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_events_total", Help: "Events about the syncs of parents, by outcome: emitted, repeated (reported not long ago) " +
				"or dropped (beyond the limits).",
		}, []string{"definition", "reason", "outcome"}),
	}
	registry.MustRegister(m.calls, m.writes, m.hotLoops, m.events, m.hostEvents)
	return m
}

// Forget drops the series of a removed definition.
func (m *Metrics) Forget(definition string) {
	if m == nil {
		return
	}
	labels := prometheus.Labels{"definition": definition}
	m.calls.DeletePartialMatch(labels)
	m.writes.DeletePartialMatch(labels)
	m.hotLoops.DeletePartialMatch(labels)
	m.events.DeletePartialMatch(labels)
	m.hostEvents.DeletePartialMatch(labels)
}

// AnswerCacheMetrics returns the metrics of the cache that Environment.Answers is.
func AnswerCacheMetrics(answers *lru.Cache) prometheus.Collector {
	labels := []string{"definition"}
	return &answerCacheMetrics{
		answers: answers,
		bytes:   prometheus.NewDesc("libretto_response_cache_bytes", "Memory of the hook responses that are cached.", labels, nil),
		evictions: prometheus.NewDesc(
			"libretto_response_cache_evictions_total", "Cached responses that were dropped for want of room.", labels, nil),
	}
}

type answerCacheMetrics struct {
	answers          *lru.Cache
	bytes, evictions *prometheus.Desc
}

// Describe sends the descriptions of the metrics.
func (m *answerCacheMetrics) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- m.bytes
	descriptions <- m.evictions
}

// Collect sends the metrics of each definition that has had a response in the cache.
func (m *answerCacheMetrics) Collect(metrics chan<- prometheus.Metric) {
	for definition, usage := range m.answers.Usage() {
		metrics <- prometheus.MustNewConstMetric(m.bytes, prometheus.GaugeValue, float64(usage.Bytes), definition)
		metrics <- prometheus.MustNewConstMetric(m.evictions, prometheus.CounterValue, float64(usage.Evictions), definition)
	}
}

func (m *Metrics) observeCall(definition, hook string, took time.Duration, err error) {
	if m == nil {
		return
	}
	outcome := "success"
	if err != nil {
		outcome = engines.KindOf(err).Reason()
	}
	m.calls.WithLabelValues(definition, hook, outcome).Observe(took.Seconds())
}

func (m *Metrics) countWrite(definition string, outcome apply.Outcome) {
	if m == nil {
		return
	}
	result := "success"
	if failure := apply.Classify(outcome.Err); failure != apply.FailureNone {
		result = string(failure)
	}
	m.writes.WithLabelValues(definition, string(outcome.Change.Action), result).Inc()
}

func (m *Metrics) countHotLoop(definition string) {
	if m != nil {
		m.hotLoops.WithLabelValues(definition).Inc()
	}
}

// Outcomes of events. Only those that hooks ask for are withheld.
const (
	eventsEmitted  = "emitted"
	eventsRepeated = "repeated"
	eventsDropped  = "dropped"
	eventsWithheld = "withheld"
)

func (m *Metrics) countEvents(definition, outcome string, count int) {
	if m != nil && count > 0 {
		m.events.WithLabelValues(definition, outcome).Add(float64(count))
	}
}

// countEvent counts an event of the host. There is none without an outcome.
func (m *Metrics) countEvent(definition, reason, outcome string) {
	if m != nil && outcome != "" {
		m.hostEvents.WithLabelValues(definition, reason, outcome).Inc()
	}
}
