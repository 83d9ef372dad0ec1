// Package notices decides which events about a parent are emitted, and what else is reported once:
// problems, the events that hooks ask for, fields that the API server drops, and children that two
// definitions claim.
package notices

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// reminderInterval is the time between two events about a problem that lasts.
	reminderInterval = 10 * time.Minute
	// maxProblems bounds what is remembered of one parent. A parent that fails in turn in a few ways gets one event for each.
	maxProblems = 8
)

// The limits on the events about the syncs of one definition, for all of its parents. Each has its own: children that come and go
// leave room for failures, and old failures for new ones.
var (
	failureEvents  = EventLimits{QPS: 5, Burst: 100}
	warningEvents  = EventLimits{QPS: 5, Burst: 100}
	rareEvents     = EventLimits{QPS: 5, Burst: 100}
	scriptEvents   = EventLimits{QPS: 1, Burst: 50}
	recoveryEvents = EventLimits{QPS: 5, Burst: 100}
	reminderEvents = EventLimits{QPS: 1, Burst: 50}
	ChildEvents    = EventLimits{QPS: 1, Burst: 50}
)

// Problem is something wrong with a parent that is reported by an event. Its reason and its identity make it what it is.
type Problem struct {
	Reason, Message string
	// Identity tells it from others with its reason. Empty means that its message without numbers does.
	Identity string
	// Failure is set for a problem that is over when a sync of the parent succeeds. Others, which are warnings, are forgotten after
	// reminderInterval.
	Failure bool
}

// Problems remembers which problems of parents were reported, so that there is an event when one begins, and not for each retry.
// Kept in memory: a parent that has had no problems for some minutes takes none.
type Problems struct {
	clock clock.PassiveClock
	seed  maphash.Seed
	// limits are those on the failures of one parent, and on its warnings.
	limits EventLimits

	mu       sync.Mutex
	byParent map[controller.Key]*parentProblems
	// The budgets of events.
	failures, Warnings, Rare, OfScripts, Recoveries, reminders, Children flowcontrol.PassiveRateLimiter
	// dropped counts the events beyond the budgets since loggedAt.
	dropped  int
	loggedAt time.Time
}

// parentProblems are those of one parent.
type parentProblems struct {
	uid types.UID
	all []reportedProblem // the oldest first
	// failures and warnings limit what is emitted of them. A parent that comes and goes, or has another text each time, would else take the
	// room of all others, and the recorder would drop the events about it. They have room again when lastEvent is long ago.
	failures, warnings flowcontrol.PassiveRateLimiter
	lastEvent          time.Time
	// failed is set if an event has reported a failure, so that another one reports its end.
	failed bool
	// dropped is set if the event about the end was counted as dropped.
	dropped bool
}

// reportedProblem is a problem with the time of its last event, which is zero before the first.
type reportedProblem struct {
	hash      uint64
	emittedAt time.Time
	failure   bool
	// admitted is set if the limit of the parent has had room for the event that is due.
	admitted bool
	// dropped is set if the event that is due was counted as dropped.
	dropped bool
}

// NewProblems returns problems of a process whose recorders have those limits on the events about one object.
func NewProblems(clock clock.PassiveClock, limits EventLimits) *Problems {
	p := &Problems{clock: clock, seed: maphash.MakeSeed(), limits: limits.ofProblems(), byParent: map[controller.Key]*parentProblems{}}
	p.failures, p.Warnings = p.limiter(failureEvents), p.limiter(warningEvents)
	p.Rare, p.OfScripts = p.limiter(rareEvents), p.limiter(scriptEvents)
	p.Recoveries, p.reminders, p.Children = p.limiter(recoveryEvents), p.limiter(reminderEvents), p.limiter(ChildEvents)
	return p
}

func (p *Problems) limiter(l EventLimits) flowcontrol.PassiveRateLimiter {
	return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(l.QPS, l.Burst, p.clock)
}

// ofProblems returns the limits on the failures of one parent: each may have a second event, about its end.
func (l EventLimits) ofProblems() EventLimits {
	l = l.orDefault()
	return EventLimits{QPS: l.QPS / 2, Burst: max(l.Burst/2, 1)}
}

// Note records a problem, and returns the outcome of the event about it. One that is dropped comes when the parent is synced again and
// there is room.
func (p *Problems) Note(key controller.Key, uid types.UID, found Problem) (outcome string) {
	identity := found.Identity
	if identity == "" {
		identity = controller.Signature(found.Message)
	}
	hash := maphash.Comparable(p.seed, [2]string{found.Reason, identity})
	p.mu.Lock()
	defer p.mu.Unlock()
	parent, known := p.problemLocked(key, uid, hash)
	now, own, budget := p.clock.Now(), parent.warnings, p.Warnings
	if known.failure = found.Failure; found.Failure {
		own, budget = parent.failures, p.failures
	}
	switch {
	case known.emittedAt.IsZero():
	case now.Sub(known.emittedAt) < reminderInterval:
		return EventsRepeated
	default:
		budget = p.reminders
	}
	known.admitted = known.admitted || own.TryAccept()
	switch {
	case known.admitted && budget.TryAccept():
		known.emittedAt, known.admitted, known.dropped = now, false, false
		parent.lastEvent, parent.failed, parent.dropped = now, parent.failed || found.Failure, false
		return EventsEmitted
	case known.dropped:
		return EventsRepeated
	}
	known.dropped = true
	p.dropped++
	return EventsDropped
}

// problemLocked returns the problem of a parent with that hash, which it adds if it is new.
func (p *Problems) problemLocked(key controller.Key, uid types.UID, hash uint64) (*parentProblems, *reportedProblem) {
	parent := p.byParent[key]
	if parent == nil || parent.uid != uid {
		parent = &parentProblems{uid: uid, failures: p.limiter(p.limits), warnings: p.limiter(p.limits)}
		p.byParent[key] = parent
	}
	i := slices.IndexFunc(parent.all, func(r reportedProblem) bool { return r.hash == hash })
	if i < 0 {
		parent.all = append(parent.all[max(len(parent.all)-maxProblems+1, 0):], reportedProblem{hash: hash})
		i = len(parent.all) - 1
	}
	return parent, &parent.all[i]
}

// NoteSynced records that a sync of a parent has succeeded, and returns the outcome of the event about that: "" if no event had
// reported a failure. One that is dropped comes by NoteRecovered when there is room.
func (p *Problems) NoteSynced(key controller.Key, uid types.UID) (outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parent := p.byParent[key]
	switch {
	case parent == nil:
		return ""
	case parent.uid != uid:
		delete(p.byParent, key)
		return ""
	}
	outcome = p.recoverLocked(parent)
	p.deleteLocked(key, parent, func(r reportedProblem) bool { return r.failure })
	return outcome
}

// NoteRecovered returns the outcome of the event about the end of a failure that was dropped: "" if there is none, or the parent fails
// again.
func (p *Problems) NoteRecovered(key controller.Key, uid types.UID) (outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if parent := p.byParent[key]; parent != nil && parent.uid == uid && parent.hasRecovered() {
		return p.recoverLocked(parent)
	}
	return ""
}

// recoverLocked returns the outcome of the event about the end of a failure.
func (p *Problems) recoverLocked(parent *parentProblems) (outcome string) {
	switch {
	case !parent.failed:
		return ""
	case p.Recoveries.TryAccept():
		parent.failed, parent.dropped = false, false
		return EventsEmitted
	case parent.dropped:
		return EventsRepeated
	}
	parent.dropped = true
	p.dropped++
	return EventsDropped
}

// Recovered returns the parents that have recovered, but without an event.
func (p *Problems) Recovered() (keys []controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, parent := range p.byParent {
		if parent.hasRecovered() {
			keys = append(keys, key)
		}
	}
	return keys
}

// hasRecovered reports whether the event about the end of a failure was dropped, and there was no other failure since.
func (p *parentProblems) hasRecovered() bool {
	return p.dropped && !slices.ContainsFunc(p.all, func(r reportedProblem) bool { return r.failure })
}

// Accept returns the outcome of an event that is no problem's, by one of the budgets.
func (p *Problems) Accept(budget flowcontrol.PassiveRateLimiter) (outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acceptLocked(budget)
}

func (p *Problems) acceptLocked(budget flowcontrol.PassiveRateLimiter) (outcome string) {
	if budget.TryAccept() {
		return EventsEmitted
	}
	p.dropped++
	return EventsDropped
}

// deleteLocked deletes problems of a parent, and the parent if it has no others and has room for new ones.
func (p *Problems) deleteLocked(key controller.Key, parent *parentProblems, del func(reportedProblem) bool) {
	parent.all = slices.DeleteFunc(parent.all, del)
	quiet := time.Duration(2 / float64(p.limits.QPS) * float64(time.Second)) // In this time the parent may have two events.
	if len(parent.all) == 0 && !parent.failed && p.clock.Since(parent.lastEvent) >= quiet {
		delete(p.byParent, key)
	}
}

// Expire forgets what was reported long ago and is no failure.
func (p *Problems) Expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for key, parent := range p.byParent {
		p.deleteLocked(key, parent, func(r reportedProblem) bool { return !r.failure && now.Sub(r.emittedAt) >= reminderInterval })
	}
}

// TakeDropped returns how many events were dropped since it last returned any, once a minute.
func (p *Problems) TakeDropped() (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); p.dropped > 0 && now.Sub(p.loggedAt) >= time.Minute {
		count, p.dropped, p.loggedAt = p.dropped, 0, now
	}
	return count
}

// Forget drops a parent.
func (p *Problems) Forget(key controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byParent, key)
}

// Retain drops the parents that keep returns false for.
func (p *Problems) Retain(keep func(controller.Key) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.byParent, func(key controller.Key, _ *parentProblems) bool { return !keep(key) })
}

// Outcomes of events. Only those that hooks ask for are withheld.
const (
	EventsEmitted  = "emitted"
	EventsRepeated = "repeated"
	EventsDropped  = "dropped"
	EventsWithheld = "withheld"
)
