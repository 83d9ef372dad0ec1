// Package metrics has the metrics of the syncs of parents.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// Metrics are the metrics of all controllers of a process. A nil *Metrics records nothing.
type Metrics struct {
	calls      *prometheus.SummaryVec
	allCalls   *prometheus.HistogramVec
	syncs      prometheus.Histogram
	writes     *prometheus.CounterVec
	failures   *prometheus.CounterVec
	hotLoops   *prometheus.CounterVec
	events     *prometheus.CounterVec
	hostEvents *prometheus.CounterVec
}

// New returns registered metrics.
func New(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewSummaryVec(prometheus.SummaryOpts{
			Name: definitionmetrics.Prefix + "hook_duration_seconds",
			Help: "Time and number of the calls to a hook, by outcome: success or the reason of its failure.",
		}, definitionmetrics.Labels("hook", "outcome")),
		allCalls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "libretto_hook_duration_seconds", Help: "Time of one call to a hook of any definition.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}, []string{"hook"}),
		syncs: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_reconcile_duration_seconds", Help: "Time of one sync of a parent of any definition, hooks and writes included.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}),
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "child_writes_total", Help: "Writes of children that did not fail, by action.",
		}, definitionmetrics.Labels("action")),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "child_write_failures_total", Help: "Writes of children that failed, by reason.",
		}, definitionmetrics.Labels("reason")),
		hotLoops: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hot_loops_total", Help: "Hot loops that were slowed down: " +
				"children that are fought over or renamed in each sync, and statuses that never settle.",
		}, definitionmetrics.Labels()),
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hook_events_total",
			Help: "Events that hooks asked for, by outcome: emitted, repeated (the answer before had it too), " +
				"dropped (beyond the limits) or withheld (a child could not be written).",
		}, definitionmetrics.Labels("outcome")),
		hostEvents: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "events_total",
			Help: "Events about the syncs of parents, by outcome: emitted, repeated (reported not long ago) " +
				"or dropped (beyond the limits).",
		}, definitionmetrics.Labels("reason", "outcome")),
	}
	registry.MustRegister(m.calls, m.allCalls, m.syncs, m.writes, m.failures, m.hotLoops, m.events, m.hostEvents)
	return m
}

// Begin makes the counters of what goes wrong in a definition and does not pass by itself exist, so that their first increase is seen.
func (m *Metrics) Begin(definition string) {
	if m == nil {
		return
	}
	m.hotLoops.WithLabelValues(definitionmetrics.Values(definition)...)
	m.events.WithLabelValues(definitionmetrics.Values(definition, notices.EventsDropped)...)
	for _, failure := range []apply.Failure{
		apply.FailureAlreadyExists, apply.FailureFieldConflict, apply.FailureNamespaceMissing, apply.FailureInvalid,
	} {
		m.failures.WithLabelValues(definitionmetrics.Values(definition, string(failure))...)
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
	m.failures.DeletePartialMatch(labels)
	m.hotLoops.DeletePartialMatch(labels)
	m.events.DeletePartialMatch(labels)
	m.hostEvents.DeletePartialMatch(labels)
}

// RegisterAnswerCache registers the metrics of the cache of answers of a process.
func RegisterAnswerCache(registry prometheus.Registerer, answers *lru.Cache) {
	register := func(name, help string, kind prometheus.ValueType, value func(lru.Usage) float64) {
		registry.MustRegister(&answerCacheMetric{
			answers: answers, kind: kind, value: value,
			desc: prometheus.NewDesc(definitionmetrics.Prefix+name, help, definitionmetrics.Labels(), nil),
		})
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

// ObserveReconcile counts a sync, and how long it took. Its trace is an exemplar if span is sampled.
func (m *Metrics) ObserveReconcile(took time.Duration, span trace.SpanContext) {
	if m != nil {
		tracing.Observe(m.syncs, took.Seconds(), span)
	}
}

// ObserveCall counts a call to a hook, and how long it took. Its trace is an exemplar if span is sampled.
func (m *Metrics) ObserveCall(definition, hook string, took time.Duration, err error, span trace.SpanContext) {
	if m == nil {
		return
	}
	outcome := success
	if err != nil {
		outcome = engines.KindOf(err).Reason()
	}
	m.calls.WithLabelValues(definitionmetrics.Values(definition, hook, outcome)...).Observe(took.Seconds())
	tracing.Observe(m.allCalls.WithLabelValues(hook), took.Seconds(), span)
}

// CountWrite counts a write of a child.
func (m *Metrics) CountWrite(definition string, result apply.Result) {
	if m == nil {
		return
	}
	if failure := apply.Classify(result.Err); failure != apply.FailureNone {
		m.failures.WithLabelValues(definitionmetrics.Values(definition, string(failure))...).Inc()
		return
	}
	m.writes.WithLabelValues(definitionmetrics.Values(definition, string(result.Change.Action))...).Inc()
}

// CountHotLoop counts a hot loop that was slowed down.
func (m *Metrics) CountHotLoop(definition string) {
	if m != nil {
		m.hotLoops.WithLabelValues(definitionmetrics.Values(definition)...).Inc()
	}
}

// CountEvents counts events that a hook has asked for.
func (m *Metrics) CountEvents(definition, outcome string, count int) {
	if m != nil && count > 0 {
		m.events.WithLabelValues(definitionmetrics.Values(definition, outcome)...).Add(float64(count))
	}
}

// CountEvent counts an event of the host. There is none without an outcome.
func (m *Metrics) CountEvent(definition, reason, outcome string) {
	if m != nil && outcome != "" {
		m.hostEvents.WithLabelValues(definitionmetrics.Values(definition, reason, outcome)...).Inc()
	}
}
