package parent

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/definitionmetrics"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/lru"
)

// Metrics are the metrics of all controllers of a process. A nil *Metrics records nothing.
type Metrics struct {
	calls    *prometheus.HistogramVec
	writes   *prometheus.CounterVec
	hotLoops *prometheus.CounterVec
	events   *prometheus.CounterVec
}

// NewMetrics returns registered metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: definitionmetrics.Prefix + "hook_duration_seconds", Help: "Time of one call to a hook, by outcome: success or the reason of its failure.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}, definitionmetrics.Labels("hook", "outcome")),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "child_writes_total", Help: "Writes of children, by action and outcome: success or the kind of failure.",
		}, definitionmetrics.Labels("action", "outcome")),
		hotLoops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hot_loops_total", Help: "Hot loops that were slowed down: " +
				"children that are fought over or renamed in each sync, and statuses that never settle.",
		}, definitionmetrics.Labels()),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hook_events_total", Help: "Events that hooks asked for, by outcome: emitted, repeated (the answer before had it too), " +
				"dropped (beyond the limits) or withheld (a child could not be written).",
		}, definitionmetrics.Labels("outcome")),
	}
	for name, metric := range map[string]struct {
		collector prometheus.Collector
		labels    []string
	}{
		"hook_duration_seconds": {m.calls, []string{"hook", "outcome"}},
		"child_writes_total":    {m.writes, []string{"action", "outcome"}},
		"hot_loops_total":       {m.hotLoops, nil},
		"hook_events_total":     {m.events, []string{"outcome"}},
	} {
		definitionmetrics.Register(registry, metric.collector, name, metric.labels...)
	}
	return m
}

// Begin makes the counters of a definition exist, so that their first increase is seen.
func (m *Metrics) Begin(definition string) {
	if m == nil {
		return
	}
	m.hotLoops.WithLabelValues(definitionmetrics.Values(definition)...)
	for _, outcome := range []string{eventsEmitted, eventsRepeated, eventsDropped, eventsWithheld} {
		m.events.WithLabelValues(definitionmetrics.Values(definition, outcome)...)
	}
	for _, action := range apply.Actions {
		m.writes.WithLabelValues(definitionmetrics.Values(definition, string(action), success)...)
		for _, failure := range apply.Failures {
			m.writes.WithLabelValues(definitionmetrics.Values(definition, string(action), string(failure))...)
		}
	}
}

// success is the outcome of what did not fail.
const success = "success"

// Forget drops the series of a removed definition.
func (m *Metrics) Forget(definition string) {
	if m == nil {
		return
	}
	labels := definitionmetrics.Selector(definition)
	m.calls.DeletePartialMatch(labels)
	m.writes.DeletePartialMatch(labels)
	m.hotLoops.DeletePartialMatch(labels)
	m.events.DeletePartialMatch(labels)
}

// RegisterAnswerCacheMetrics registers the metrics of the cache that Environment.Answers is.
func RegisterAnswerCacheMetrics(registry prometheus.Registerer, answers *lru.Cache) {
	register := func(name, help string, kind prometheus.ValueType, value func(lru.Usage) float64) {
		definitionmetrics.Register(registry, &answerCacheMetric{
			answers: answers, kind: kind, value: value,
			desc: prometheus.NewDesc(definitionmetrics.Prefix+name, help, definitionmetrics.Labels(), nil),
		}, name)
	}
	register("response_cache_bytes", "Memory of the hook responses that are cached.", prometheus.GaugeValue,
		func(usage lru.Usage) float64 { return float64(usage.Bytes) })
	register("response_cache_evictions_total", "Cached responses that were dropped for want of room.", prometheus.CounterValue,
		func(usage lru.Usage) float64 { return float64(usage.Evictions) })
}

type answerCacheMetric struct {
	answers *lru.Cache
	desc    *prometheus.Desc
	kind    prometheus.ValueType
	value   func(lru.Usage) float64
}

// Describe sends the description of the metric.
func (m *answerCacheMetric) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- m.desc }

// Collect sends the metric of each definition that has had a response in the cache.
func (m *answerCacheMetric) Collect(metrics chan<- prometheus.Metric) {
	for definition, usage := range m.answers.Usage() {
		metrics <- prometheus.MustNewConstMetric(m.desc, m.kind, m.value(usage), definitionmetrics.Values(definition)...)
	}
}

func (m *Metrics) observeCall(definition, hook string, took time.Duration, err error) {
	if m == nil {
		return
	}
	outcome := success
	if err != nil {
		outcome = engines.KindOf(err).Reason()
	}
	m.calls.WithLabelValues(definitionmetrics.Values(definition, hook, outcome)...).Observe(took.Seconds())
}

func (m *Metrics) countWrite(definition string, outcome apply.Outcome) {
	if m == nil {
		return
	}
	result := success
	if failure := apply.Classify(outcome.Err); failure != apply.FailureNone {
		result = string(failure)
	}
	m.writes.WithLabelValues(definitionmetrics.Values(definition, string(outcome.Change.Action), result)...).Inc()
}

func (m *Metrics) countHotLoop(definition string) {
	if m != nil {
		m.hotLoops.WithLabelValues(definitionmetrics.Values(definition)...).Inc()
	}
}

// Outcomes of the events that hooks ask for.
const (
	eventsEmitted  = "emitted"
	eventsRepeated = "repeated"
	eventsDropped  = "dropped"
	eventsWithheld = "withheld"
)

func (m *Metrics) countEvents(definition, outcome string, count int) {
	if m != nil && count > 0 {
		m.events.WithLabelValues(definitionmetrics.Values(definition, outcome)...).Add(float64(count))
	}
}
