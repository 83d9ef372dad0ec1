// Package failover combines two programs into one: a program with a fallback, which
// answers when the first can't, or a program with a shadow, which gets the same calls so
// that the answers can be compared. This is how a webhook is moved to a script.
package failover

import (
	"sync"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

// maxShadowCalls is how many calls to shadows are under way at once. Further
// answers are not compared, which bounds the cost of a slow shadow.
const maxShadowCalls = 16

// Combiner combines programs and counts what their fallbacks and shadows do. A nil
// *Combiner counts nothing and ignores shadows.
type Combiner struct {
	// Secret hides values in logs, besides those of Secrets. It may be nil, and is set before use.
	Secret SecretFunc

	log       logr.Logger
	fallbacks *prometheus.CounterVec
	shadows   *prometheus.CounterVec
	// slots has an element for each call to a shadow that is under way.
	slots chan struct{}

	mu        sync.Mutex
	lifetimes map[string]*lifetime // of the definitions that are there
}

// lifetime is the time for which a definition exists. Later events are not counted: they
// would bring back metrics that are never deleted.
type lifetime struct{ ended bool }

// Hook names a hook in logs and metrics.
type Hook struct{ Definition, Name string }

// New returns a Combiner and registers its metrics.
func New(registry prometheus.Registerer, log logr.Logger) *Combiner {
	p := &Combiner{
		log: log, slots: make(chan struct{}, maxShadowCalls), lifetimes: map[string]*lifetime{},
		fallbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hook_fallback_total",
			Help: "Calls that a hook's fallback was asked in place of its script, by the reason why the script could not answer.",
		}, definitionmetrics.Labels("hook", "reason")),
		shadows: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: definitionmetrics.Prefix + "hook_shadow_total",
			Help: "Answers of a hook and its shadow that were compared, by outcome: " +
				"equal, different, failed (the shadow gave none) or dropped (too many were under way).",
		}, definitionmetrics.Labels("hook", "outcome")),
	}
	registry.MustRegister(p.fallbacks, p.shadows)
	return p
}

// Forget deletes the metrics of a definition that is gone. Its programs no longer count;
// those of a later definition with the same name do.
func (p *Combiner) Forget(definition string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if l := p.lifetimes[definition]; l != nil {
		l.ended = true
		delete(p.lifetimes, definition)
	}
	labels := definitionmetrics.Selector(definition)
	p.fallbacks.DeletePartialMatch(labels)
	p.shadows.DeletePartialMatch(labels)
}

// counters are the metrics of a hook.
type counters struct {
	combiner *Combiner // nil counts nothing
	hook     Hook
	life     *lifetime
}

func (p *Combiner) countersFor(hook Hook) counters {
	if p == nil {
		return counters{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lifetimes[hook.Definition]
	if l == nil {
		l = &lifetime{}
		p.lifetimes[hook.Definition] = l
	}
	return counters{combiner: p, hook: hook, life: l}
}

func (c counters) incFallback(reason string) {
	if c.combiner != nil {
		c.add(c.combiner.fallbacks, reason, 1)
	}
}

// incShadow counts a comparison.
func (c counters) incShadow(outcome string) { c.add(c.combiner.shadows, outcome, 1) }

// beginFallback and beginShadow make the counters exist, so that their first increase is seen.
func (c counters) beginFallback() {
	if c.combiner == nil {
		return
	}
	for _, reason := range fallbackReasons() {
		c.add(c.combiner.fallbacks, reason, 0)
	}
}

// fallbackReasons returns the reasons for which fallbacks are asked, but that the host is busy, which most never are.
func fallbackReasons() []string {
	reasons := []string{notLoaded}
	for _, kind := range engines.Kinds {
		if fallsBack(kind) && kind != engines.Busy {
			reasons = append(reasons, kind.Reason())
		}
	}
	return reasons
}

func (c counters) beginShadow() {
	for _, outcome := range []string{equal, different, failed, dropped} {
		c.add(c.combiner.shadows, outcome, 0)
	}
}

func (c counters) add(to *prometheus.CounterVec, what string, more float64) {
	c.combiner.mu.Lock()
	defer c.combiner.mu.Unlock()
	if !c.life.ended {
		to.WithLabelValues(definitionmetrics.Values(c.hook.Definition, c.hook.Name, what)...).Add(more)
	}
}
