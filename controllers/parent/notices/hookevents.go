package notices

import (
	"fmt"
	"hash/maphash"
	"maps"
	"sync"
	"time"

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

// HookEvents chooses the events to emit of those that hooks ask for. Kept in memory.
type HookEvents struct {
	clock  clock.PassiveClock
	seed   maphash.Seed
	Limits EventLimits
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

// NewHookEvents returns the events that hooks of a definition ask for. resumedAt is when this process took over from one that had
// run the same spec, or zero: what that one has sent is not sent again.
func NewHookEvents(clock clock.PassiveClock, limits EventLimits, resumedAt time.Time) *HookEvents {
	e := &HookEvents{clock: clock, seed: maphash.MakeSeed(), Limits: limits.ofHooks(), resumedAt: resumedAt,
		byParent: map[controller.Key]*parentEvents{}}
	e.all = e.limiter(definitionEvents)
	if !resumedAt.IsZero() {
		e.resumed = map[uint64]struct{}{}
	}
	return e
}

func (e *HookEvents) limiter(l EventLimits) flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(l.QPS, l.Burst, e.clock)
}

// RequestedEvent is an event with the key by which it is known again.
type RequestedEvent struct {
	variant.Event
	Key uint64
}

// Request returns the event of a hook. Its text makes it what it is.
func (e *HookEvents) Request(event variant.Event) RequestedEvent {
	return RequestedEvent{event, maphash.Comparable(e.seed, event)}
}

// RequestAsWait returns an event about a wait for a reason, which makes it what it is, and not its text.
func (e *HookEvents) RequestAsWait(event variant.Event, reason string) RequestedEvent {
	return RequestedEvent{event, maphash.Comparable(e.seed, [2]string{event.Reason, reason})}
}

// choice says which events of an answer are emitted.
type choice struct {
	Emit              []variant.Event
	Repeated, Dropped int
	// FirstDropped is set if these are the first dropped ones about the parent, and TellDropped if there is to be an event about that.
	FirstDropped, TellDropped bool
}

// Choose returns which of the events in an answer to emit: those that the answer before did not have. The first answer after an earlier
// process has none before it. If its pass wrote nothing, the earlier process has emitted its events.
// more is how many events the answer has beyond those.
func (e *HookEvents) Choose(key controller.Key, parent *unstructured.Unstructured, asked []RequestedEvent, more int, wrote bool) choice {
	e.mu.Lock()
	defer e.mu.Unlock()
	known := e.isKnown(parent) || wrote
	entry := e.byParent[key]
	if entry == nil || entry.uid != parent.GetUID() {
		if delete(e.byParent, key); len(asked) == 0 {
			return choice{}
		}
		entry = &parentEvents{uid: parent.GetUID(), limiter: e.limiter(e.Limits)}
		e.byParent[key] = entry
	}
	c, before, seen := choice{Dropped: more}, sets.New(entry.last...), sets.Set[uint64]{}
	entry.last = nil
	for _, event := range asked {
		switch {
		case seen.Has(event.Key):
			continue
		case before.Has(event.Key), !known:
			c.Repeated++
		case entry.limiter.TryAccept() && e.all.TryAccept():
			c.Emit = append(c.Emit, event.Event)
		default:
			c.Dropped++
		}
		seen.Insert(event.Key)
		entry.last = append(entry.last, event.Key)
	}
	c.FirstDropped = c.Dropped > 0 && !entry.dropping
	c.TellDropped = c.FirstDropped && e.all.TryAccept()
	entry.dropping = c.Dropped > 0 || entry.dropping && len(c.Emit) == 0
	return c
}

// isKnown reports whether there was an answer about the parent before, or there can't have been one, as the parent is new.
func (e *HookEvents) isKnown(parent *unstructured.Unstructured) bool {
	if e.resumed == nil || parent.GetCreationTimestamp().After(e.resumedAt) {
		return true
	}
	uid := maphash.String(e.seed, string(parent.GetUID()))
	_, known := e.resumed[uid]
	e.resumed[uid] = struct{}{}
	return known
}

// Forget drops a parent.
func (e *HookEvents) Forget(key controller.Key) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.byParent, key)
}

// Retain drops the parents that keep returns false for.
func (e *HookEvents) Retain(keep func(controller.Key) bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	maps.DeleteFunc(e.byParent, func(key controller.Key, _ *parentEvents) bool { return !keep(key) })
}

// Explain returns the message of the event about dropped events.
func (l EventLimits) Explain() string {
	return fmt.Sprintf("events that a hook asks for are dropped: of one answer %d are emitted, and about one object %d at once and one in %s: "+
		"let the hook ask for an event when something has changed, and leave out of its message what always differs",
		variant.MaxEvents, l.Burst, time.Duration(float64(time.Second)/float64(l.QPS)).Round(time.Second))
}
