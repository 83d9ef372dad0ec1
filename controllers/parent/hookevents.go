package parent

import (
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// EventLimits are those of the process's recorder on the events about one object.
type EventLimits struct {
	// QPS is how many a second it takes on average, and Burst how many at once.
	QPS   float32
	Burst int
}

// DefaultEventLimits are those of Kubernetes' recorders.
func DefaultEventLimits() EventLimits { return EventLimits{QPS: 1. / 300, Burst: 25} }

// ofHooks returns the limits on the events that hooks ask for. They leave room for those of the host.
func (l EventLimits) ofHooks() EventLimits {
	l = l.orDefault()
	return EventLimits{QPS: l.QPS / 2, Burst: max(l.Burst*3/5, 1)}
}

func (l EventLimits) orDefault() EventLimits {
	if l.QPS <= 0 || l.Burst <= 0 {
		return DefaultEventLimits()
	}
	return l
}

// definitionEvents are the limits on the events that the hooks of one definition ask for, about all of its parents. The burst is half
// of what a recorder queues.
var definitionEvents = EventLimits{QPS: 5, Burst: 500}

// hookEvents chooses the events to emit of those that hooks ask for. Kept in memory.
type hookEvents struct {
	clock  clock.PassiveClock
	seed   maphash.Seed
	limits EventLimits
	// resumedAt is when this process took over from an earlier one, or zero.
	resumedAt time.Time

	mu       sync.Mutex
	all      flowcontrol.PassiveRateLimiter
	byParent map[controller.Key]*parentEvents
	// resumed are the parents from before resumedAt that were answered about since, by the hash of their UID. It is nil without
	// resumedAt. As no parent from before is added later, it does not grow for ever.
	resumed map[uint64]struct{}
}

// parentEvents are the events about one parent.
type parentEvents struct {
	uid types.UID
	// last are the keys of the events in the last answer.
	last    []uint64
	limiter flowcontrol.PassiveRateLimiter
	// dropping is set from the first event that was dropped until all of an answer are emitted.
	dropping bool
}

func newHookEvents(clock clock.PassiveClock, limits EventLimits, resumedAt time.Time) *hookEvents {
	e := &hookEvents{clock: clock, seed: maphash.MakeSeed(), limits: limits.ofHooks(), resumedAt: resumedAt, byParent: map[controller.Key]*parentEvents{}}
	e.all = e.limiter(definitionEvents)
	if !resumedAt.IsZero() {
		e.resumed = map[uint64]struct{}{}
	}
	return e
}

func (e *hookEvents) limiter(l EventLimits) flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(l.QPS, l.Burst, e.clock)
}

// askedEvent is an event with the key by which it is known again.
type askedEvent struct {
	variant.Event
	key uint64
}

// ask returns the event of a hook. Its text makes it what it is.
func (e *hookEvents) ask(event variant.Event) askedEvent {
	return askedEvent{event, maphash.Comparable(e.seed, event)}
}

// choice is what becomes of the events of an answer.
type choice struct {
	emit              []variant.Event
	repeated, dropped int
	// firstDropped is set if these are the first dropped ones about the parent, and tellDropped if there is to be an event about that.
	firstDropped, tellDropped bool
}

// choose returns which of the events in an answer to emit: those that the answer before did not have. The first answer after an earlier
// process has none before it. If its pass wrote nothing, the earlier process has emitted its events.
// more is how many events the answer has beyond those.
func (e *hookEvents) choose(key controller.Key, parent *unstructured.Unstructured, asked []askedEvent, more int, wrote bool) choice {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.isKnown(parent) || wrote
	entry := e.byParent[key]
	if entry == nil || entry.uid != parent.GetUID() {
		if delete(e.byParent, key); len(asked) == 0 {
			return choice{}
		}
		entry = &parentEvents{uid: parent.GetUID(), limiter: e.limiter(e.limits)}
		e.byParent[key] = entry
	}
	c, before, seen := choice{dropped: more}, sets.New(entry.last...), sets.Set[uint64]{}
	entry.last = nil
	for _, event := range asked {
		switch {
		case seen.Has(event.key):
			continue
		case before.Has(event.key), !known:
			c.repeated++
		case entry.limiter.TryAccept() && e.all.TryAccept():
			c.emit = append(c.emit, event.Event)
		default:
			c.dropped++
		}
		seen.Insert(event.key)
		entry.last = append(entry.last, event.key)
	}
	c.firstDropped = c.dropped > 0 && !entry.dropping
	c.tellDropped = c.firstDropped && e.all.TryAccept()
	entry.dropping = c.dropped > 0 || entry.dropping && len(c.emit) == 0
	return c
}

// isKnown reports whether there was an answer about the parent before, or there can't have been one, as the parent is new.
func (e *hookEvents) isKnown(parent *unstructured.Unstructured) bool {
	if e.resumed == nil || parent.GetCreationTimestamp().After(e.resumedAt) {
		return true
	}
	uid := maphash.String(e.seed, string(parent.GetUID()))
	_, known := e.resumed[uid]
	e.resumed[uid] = struct{}{}
	return known
}

// forget drops a parent.
func (e *hookEvents) forget(key controller.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byParent, key)
}

// retain drops the parents that keep returns false for.
func (e *hookEvents) retain(keep func(controller.Key) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.byParent, func(key controller.Key, _ *parentEvents) bool { return !keep(key) })
}

// emitEvents emits the new events that the hooks ask for, and those about new reasons to wait. It emits none before the children are as
// the hooks want them, so that no event tells of what has failed.
func (p *pass) emitEvents(desired variant.Desired, applied bool) {
	asked := p.waitEvents(desired.Waits())
	for _, event := range desired.Events {
		asked = append(asked, p.hookEvents.ask(event))
	}
	if !applied {
		p.env.Metrics.countEvents(p.config.Definition, eventsWithheld, len(asked))
		return
	}
	c := p.hookEvents.choose(p.key, p.parent, asked, desired.MoreEvents, p.wrote)
	for _, event := range c.emit {
		p.env.HookEvents.Event(p.parent, event.Type, event.Reason, event.Message)
	}
	p.env.Metrics.countEvents(p.config.Definition, eventsEmitted, len(c.emit))
	p.env.Metrics.countEvents(p.config.Definition, eventsRepeated, c.repeated)
	p.env.Metrics.countEvents(p.config.Definition, eventsDropped, c.dropped)
	if c.firstDropped {
		p.env.Log.Info("events of a hook are dropped", "definition", p.config.Definition, "parent", p.key.String(), "dropped", c.dropped)
	}
	if c.tellDropped {
		p.env.SyncEvents.Event(p.parent, corev1.EventTypeWarning, variant.ReasonEventsDropped, p.hookEvents.limits.explain())
	}
}

// explain returns the message of the event about dropped events.
func (l EventLimits) explain() string {
	return fmt.Sprintf("events that a hook asks for are dropped: of one answer %d are emitted, and about one object %d at once and one in %s: "+
		"let the hook ask for an event when something has changed, and leave out of its message what always differs",
		variant.MaxEvents, l.Burst, time.Duration(float64(time.Second)/float64(l.QPS)).Round(time.Second))
}

// waitEvents returns an event for each reason that hooks wait for. The reason makes it what it is, not the message.
func (p *pass) waitEvents(waits []variant.Wait) (asked []askedEvent) {
	if len(waits) == 0 {
		return nil
	}
	count := map[string]int{}
	for _, wait := range waits {
		count[wait.Reason]++
	}
	for _, wait := range waits {
		if count[wait.Reason] == 0 {
			continue
		}
		text := wait.String()
		if others := count[wait.Reason] - 1; others > 0 {
			text += fmt.Sprintf(" (and %d more inputs)", others)
		}
		event := variant.Event{Type: corev1.EventTypeNormal, Reason: variant.ReasonWaiting, Message: text + ": until then " + listsOf(wait) + " stay as they are"}
		asked = append(asked, askedEvent{event, maphash.Comparable(p.hookEvents.seed, [2]string{variant.ReasonWaiting, wait.Reason})})
		count[wait.Reason] = 0
	}
	return asked
}

// listsOf returns what a hook leaves alone that waits.
func listsOf(wait variant.Wait) string {
	if wait.Input != "" {
		return "the outputs"
	}
	return "the children"
}
