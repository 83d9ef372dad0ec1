// Package pair lets two programs answer one hook: one whose answers are applied,
// and one that steps in when that can't answer, or that is asked the same so that
// the answers can be compared. This is how a webhook is moved to a script.
package pair

import (
	"sync"

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

	mu    sync.Mutex
	lives map[string]*life // of the definitions that are there
}

// life is the time for which a definition is there. What comes later is not
// counted: it would bring figures back that nobody would ever drop.
type life struct{ over bool }

// Hook names a hook in logs and metrics.
type Hook struct{ Definition, Name string }

// New registers the metrics of pairs.
func New(registry prometheus.Registerer, log logr.Logger) *Pairs {
	p := &Pairs{
		log: log, room: make(chan struct{}, mostCompared), lives: map[string]*life{},
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

// Forget drops the figures of a definition that is gone. Its programs count no
// more; those that are made for another of its name do.
func (p *Pairs) Forget(definition string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lives[definition]; l != nil {
		l.over = true
		delete(p.lives, definition)
	}
	labels := prometheus.Labels{"definition": definition}
	p.fallbacks.DeletePartialMatch(labels)
	p.shadows.DeletePartialMatch(labels)
}

// counts are a hook's figures.
type counts struct {
	pairs *Pairs // nil counts nothing
	hook  Hook
	life  *life
}

func (p *Pairs) countsOf(hook Hook) counts {
	if p == nil {
		return counts{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lives[hook.Definition]
	if l == nil {
		l = &life{}
		p.lives[hook.Definition] = l
	}
	return counts{pairs: p, hook: hook, life: l}
}

func (c counts) fellBack(reason string) {
	if c.pairs != nil {
		c.add(c.pairs.fallbacks, reason)
	}
}

// compared counts a comparison.
func (c counts) compared(outcome string) { c.add(c.pairs.shadows, outcome) }

func (c counts) add(to *prometheus.CounterVec, what string) {
	c.pairs.mu.Lock()
	defer c.pairs.mu.Unlock()
	if !c.life.over {
		to.WithLabelValues(c.hook.Definition, c.hook.Name, what).Inc()
	}
}
