package controller

import (
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/workqueue"

	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

// Metrics are the metrics of all control loops of a process. A nil *Metrics records nothing.
type Metrics struct {
	total *prometheus.CounterVec
	queue queueMetrics
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "reconcile_total", Help: "Passes over one key, by outcome: success, later or error.",
		}, definitionmetrics.Labels("outcome")),
		queue: newQueueMetrics(),
	}
	registry.MustRegister(m.total)
	m.queue.register(registry)
	return m
}

// Forget deletes the series of a control loop that has been removed.
func (m *Metrics) Forget(controller string) {
	if m == nil {
		return
	}
	m.total.DeletePartialMatch(definitionmetrics.LoopSelector(controller))
	m.queue.forget(controller)
}

// begin makes the counters of a control loop exist, so that their first increase is seen.
func (m *Metrics) begin(controller string) {
	if m == nil {
		return
	}
	for _, outcome := range []string{outcomeSuccess, outcomeLater, outcomeError} {
		m.total.WithLabelValues(definitionmetrics.LoopValues(controller, outcome)...)
	}
}

func (m *Metrics) count(controller, outcome string) {
	if m == nil {
		return
	}
	m.total.WithLabelValues(definitionmetrics.LoopValues(controller, outcome)...).Inc()
}

func (m *Metrics) queues() workqueue.MetricsProvider {
	if m == nil {
		return nil
	}
	return m.queue
}

// queueMetrics are the work queue metrics, with the names that metacontroller and other controllers use
// (section 5.2 of the specification).
type queueMetrics struct {
	depth, unfinished, longest *prometheus.GaugeVec
	adds, retries              *prometheus.CounterVec
	latency, work              *prometheus.HistogramVec
}

func newQueueMetrics() queueMetrics {
	label := definitionmetrics.Labels("name")
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "workqueue_" + name, Help: help}, label)
	}
	counter := func(name, help string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: "workqueue_" + name, Help: help}, label)
	}
	histogram := func(name, help string, buckets ...float64) *prometheus.HistogramVec { // Few buckets, as each definition has them.
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "workqueue_" + name, Help: help, Buckets: buckets}, label)
	}
	return queueMetrics{
		depth:      gauge("depth", "Keys that wait."),
		unfinished: gauge("unfinished_work_seconds", "Time spent so far on the passes under way."),
		longest:    gauge("longest_running_processor_seconds", "Time of the longest pass under way."),
		adds:       counter("adds_total", "Keys added."),
		retries:    counter("retries_total", "Keys added again after an error."),
		latency:    histogram("queue_duration_seconds", "Time a key waited.", 0.1, 1, 10),
		work:       histogram("work_duration_seconds", "Time a key was worked on.", 0.01, 0.1, 1, 10),
	}
}

func (q queueMetrics) register(registry prometheus.Registerer) {
	registry.MustRegister(q.depth, q.unfinished, q.longest, q.adds, q.retries, q.latency, q.work)
}

func (q queueMetrics) forget(name string) {
	labels := queueLabels(name)
	for _, vec := range []interface{ DeleteLabelValues(...string) bool }{
		q.depth, q.unfinished, q.longest, q.adds, q.retries, q.latency, q.work,
	} {
		vec.DeleteLabelValues(labels...)
	}
}

// queueLabels returns the labels of a queue: those of its definition, and its name as other controllers have it.
func queueLabels(name string) []string { return definitionmetrics.LoopValues(name, name) }

func (q queueMetrics) NewDepthMetric(name string) workqueue.GaugeMetric {
	return q.depth.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewAddsMetric(name string) workqueue.CounterMetric {
	return q.adds.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewLatencyMetric(name string) workqueue.HistogramMetric {
	return q.latency.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewWorkDurationMetric(name string) workqueue.HistogramMetric {
	return q.work.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewUnfinishedWorkSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.unfinished.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewLongestRunningProcessorSecondsMetric(name string) workqueue.SettableGaugeMetric {
	return q.longest.WithLabelValues(queueLabels(name)...)
}

func (q queueMetrics) NewRetriesMetric(name string) workqueue.CounterMetric {
	return q.retries.WithLabelValues(queueLabels(name)...)
}
