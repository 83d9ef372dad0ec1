package parent

import (
	"github.com/libretto-k8s/libretto/controllers/parent/answers"
	"github.com/libretto-k8s/libretto/controllers/parent/finalizers"
	"github.com/libretto-k8s/libretto/controllers/parent/health"
	"github.com/libretto-k8s/libretto/controllers/parent/loops"
	"github.com/libretto-k8s/libretto/controllers/parent/notices"
	"github.com/libretto-k8s/libretto/controllers/parent/related"
	"github.com/libretto-k8s/libretto/controllers/parent/samples"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/parent/waiters"
	"github.com/libretto-k8s/libretto/controllers/parent/writes"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// memories are what one reconciler remembers between passes, in memory only.
type memories struct {
	// By child.
	pendingWrites *writes.Pending
	history       *writes.History
	detector      *loops.Detector
	// By parent.
	passCache        *answers.Cache
	related          *related.Index
	creationWaiters  *waiters.Creations
	namespaceWaiters *waiters.Namespaces
	resyncs          *loops.RateLimiter[controller.Key] // that come soon after the last sync
	deferredStatuses *statuses.Deferred
	finalizeWaits    *finalizers.Waits
	status           *statuses.Writer
	outdated         *notices.OutdatedChildren
	// By definition.
	previewCaches  *samples.Caches
	droppedFields  *notices.DroppedFields
	sharedChildren *notices.SharedChildren

	lifecycle
}

// newMemories returns the memories of a reconciler.
func newMemories(config Config, env Environment) (m memories) {
	l, clock := &m.lifecycle, env.Clock
	m.pendingWrites, m.detector = remember(l, writes.NewPending(clock)), remember(l, loops.NewDetector(clock))
	m.history = writes.NewHistory(clock) // Keys of children are not those of parents: the events of children forget these.
	m.passCache, m.related = remember(l, answers.NewCache(env.Answers, config.Definition)), remember(l, related.NewIndex(env.Pool))
	m.creationWaiters, m.namespaceWaiters = remember(l, waiters.NewCreations()), remember(l, waiters.NewNamespaces(env.Pool))
	m.resyncs = remember(l, loops.NewRateLimiter[controller.Key](clock, shortResyncs, resyncInterval))
	m.deferredStatuses, m.finalizeWaits = remember(l, statuses.NewDeferred()), remember(l, finalizers.NewWaits(clock))
	m.status, m.outdated = remember(l, statuses.NewWriter(env.Client, env.Schemas, clock)), remember(l, notices.NewOutdatedChildren())
	m.previewCaches, m.droppedFields = remember(l, samples.NewCaches(env.Pool, clock)), remember(l, notices.NewDroppedFields())
	m.sharedChildren = remember(l, notices.NewSharedChildren())
	return m
}

// inherited are the memories that a reconciler takes over from that of an earlier spec of the definition, or shares with it: how parents
// are, what hooks wait for, which events they asked for, and which problems were reported. So no edit makes a failure new, or renews a
// limit.
type inherited struct {
	states     *health.States
	waits      *health.Waits
	lastSyncs  *health.LastSyncs
	hookEvents *notices.HookEvents
	problems   *notices.Problems
	requests   *requests

	lifecycle
}

func newInherited(config Config, env Environment) (i inherited) {
	l, clock := &i.lifecycle, env.Clock
	i.states, i.waits = remember(l, health.NewStates(clock)), remember(l, health.NewWaits())
	i.lastSyncs, i.requests = remember(l, health.NewLastSyncs(clock)), remember(l, newRequests())
	i.hookEvents = remember(l, notices.NewHookEvents(clock, env.Events.Limits, config.ResumedAt))
	i.problems = remember(l, notices.NewProblems(clock, env.Events.Limits))
	return i
}

// lifecycle has what memories do besides remembering. Each memory registers itself for what it has a method for.
type lifecycle struct {
	forgets []func(parent controller.Key) (changed bool)
	retains []func(keep func(parent controller.Key) bool)
	expires []func()
	closes  []func()
}

// remember registers a memory, and returns it.
func remember[M any](l *lifecycle, memory M) M {
	switch m := any(memory).(type) {
	case interface{ Forget(parent controller.Key) }:
		l.forgets = append(l.forgets, func(key controller.Key) bool { m.Forget(key); return false })
	case interface {
		Forget(parent controller.Key) (changed bool)
	}:
		l.forgets = append(l.forgets, m.Forget)
	}
	if m, is := any(memory).(interface {
		Retain(keep func(parent controller.Key) bool)
	}); is {
		l.retains = append(l.retains, m.Retain)
	}
	if m, is := any(memory).(interface{ Expire() }); is {
		l.expires = append(l.expires, m.Expire)
	}
	if m, is := any(memory).(interface{ Close() }); is {
		l.closes = append(l.closes, m.Close)
	}
	return memory
}

// forget drops a parent that is gone, and reports whether the definition's status is out of date by that.
func (l *lifecycle) forget(key controller.Key) (changed bool) {
	for _, forget := range l.forgets {
		changed = forget(key) || changed
	}
	return changed
}

// retain drops the parents that keep returns false for.
func (l *lifecycle) retain(keep func(controller.Key) bool) {
	for _, retain := range l.retains {
		retain(keep)
	}
}

// expire drops what is kept for some time only.
func (l *lifecycle) expire() {
	for _, expire := range l.expires {
		expire()
	}
}

// close ends watches and timers.
func (l *lifecycle) close() {
	for _, end := range l.closes {
		end()
	}
}
