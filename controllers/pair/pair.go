// Package pair lets two programs answer one hook: one whose answers are applied,
// and one that steps in when that can't answer, or that is asked the same so that
// the answers can be compared. This is how a webhook is moved to a script.
package pair

import (
	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
)

// mostCompared is how many calls to shadows are under way at once. When there
// would be more, calls go uncompared, so that a slow shadow costs no more than that.
const mostCompared = 16

// Pairs makes the pairs of a process. A nil *Pairs makes pairs that count nothing.
type Pairs struct {
	log       logr.Logger
	fallbacks *prometheus.CounterVec
	shadows   *prometheus.CounterVec
	// room has a place for each call to a shadow that is under way.
	room chan struct{}
}

// Hook names a hook in logs and metrics.
type Hook struct{ Definition, Name string }

// New registers the metrics of pairs.
func New(registry prometheus.Registerer, log logr.Logger) *Pairs {
	p := &Pairs{
		log: log, room: make(chan struct{}, mostCompared),
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_hook_fallback_total", Help: "Calls that a hook's fallback was asked in place of its script, by the reason why the script could not answer.",
		}, []string{"definition", "hook", "reason"}),
		shadows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "libretto_hook_shadow_total", Help: "Answers of a hook and its shadow that were compared, by outcome: equal, different, failed (the shadow gave none) or dropped (too many were under way).",
		}, []string{"definition", "hook", "outcome"}),
	}
	registry.MustRegister(p.fallbacks, p.shadows)
	return p
}

// Forget drops the figures of a definition that is gone.
func (p *Pairs) Forget(definition string) {
	if p == nil {
		return
	}
	labels := prometheus.Labels{"definition": definition}
	p.fallbacks.DeletePartialMatch(labels)
	p.shadows.DeletePartialMatch(labels)
}

func (p *Pairs) fellBack(hook Hook, reason string) {
	if p != nil {
		p.fallbacks.WithLabelValues(hook.Definition, hook.Name, reason).Inc()
	}
}

// compared counts a comparison.
func (p *Pairs) compared(hook Hook, outcome string) {
	p.shadows.WithLabelValues(hook.Definition, hook.Name, outcome).Inc()
}
