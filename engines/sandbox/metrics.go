package sandbox

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// Metrics are the metrics of a pool. A nil *Metrics records nothing.
type Metrics struct {
	calls    *prometheus.HistogramVec
	waits    prometheus.Histogram
	exits    *prometheus.CounterVec
	workers  *prometheus.GaugeVec
	resident prometheus.Gauge
	measures *prometheus.GaugeVec
}

// NewMetrics creates the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "libretto_script_duration_seconds", Help: "Time of a call or a load of a script, its wait for a worker included, by engine and result.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 2.5, 14),
		}, []string{"engine", "result"}),
		waits: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "libretto_script_worker_wait_seconds", Help: "Time that a call of a script waited for a worker.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 11),
		}),
		exits: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_script_worker_ends_total", Help: "Script workers that ended, by reason.",
		}, []string{"reason"}),
		workers: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "libretto_script_workers", Help: "Script workers, by state: busy, idle or starting.",
		}, []string{"state"}),
		resident: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "libretto_script_workers_resident_bytes", Help: "Resident memory of all idle script workers as it was after their last calls, without what they share with this process.",
		}),
		measures: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "libretto_script_worker_confinement", Help: "1 for each measure that is in force in the script workers, " +
				"0.5 for one of which a part is, 0 for one that is not; with its state: full, partial or none.",
		}, []string{"measure", "state"}),
	}
	registry.MustRegister(m.calls, m.waits, m.exits, m.workers, m.resident, m.measures)
	for _, reason := range exitReasons {
		m.exits.WithLabelValues(reason) // So that the first increase is seen.
	}
	return m
}

func (m *Metrics) observeCall(engine, result string, took time.Duration) {
	if m != nil {
		m.calls.WithLabelValues(engine, result).Observe(took.Seconds())
	}
}

func (m *Metrics) observeWait(took time.Duration) {
	if m != nil {
		m.waits.Observe(took.Seconds())
	}
}

func (m *Metrics) countExit(reason string) {
	if m != nil {
		m.exits.WithLabelValues(reason).Inc()
	}
}

// updateWorkers is called with the pool locked.
func (m *Metrics) updateWorkers(p *Pool) {
	if m == nil {
		return
	}
	idle := p.idleWorkers()
	m.workers.WithLabelValues("idle").Set(float64(idle))
	m.workers.WithLabelValues("busy").Set(float64(len(p.processes) - idle))
	m.workers.WithLabelValues("starting").Set(float64(p.starting))
	resident := int64(0)
	for w, idle := range p.processes {
		if idle {
			resident += w.memory.resident
		}
	}
	m.resident.Set(float64(resident))
}

func (m *Metrics) setConfinement(report map[string]string) {
	if m == nil {
		return
	}
	for measure, reason := range report {
		state, _ := confine.StateOf(reason)
		m.measures.DeletePartialMatch(prometheus.Labels{"measure": measure})
		m.measures.WithLabelValues(measure, string(state)).Set(map[confine.State]float64{confine.Full: 1, confine.Partial: 0.5}[state])
	}
}
