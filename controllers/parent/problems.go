package parent

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
	recoveryEvents = EventLimits{QPS: 5, Burst: 100}
	reminderEvents = EventLimits{QPS: 1, Burst: 50}
	childEvents    = EventLimits{QPS: 1, Burst: 50}
)

// problem is something wrong with a parent that is reported by an event. Its reason and its identity make it what it is.
type problem struct {
	reason, message string
	// identity tells it from others with its reason. Empty means that its message without numbers does.
	identity string
	// failure is set for a problem that is over when a sync of the parent succeeds. Others, which are warnings, are forgotten after
	// reminderInterval.
	failure bool
}

// problems remembers which problems of parents were reported, so that there is an event when one begins, and not for each retry.
// Kept in memory: a parent without problems takes none.
type problems struct {
	clock clock.PassiveClock
	seed  maphash.Seed

	mu       sync.Mutex
	byParent map[controller.Key]*parentProblems
	// The budgets of events.
	failures, warnings, rare, recoveries, reminders, children flowcontrol.PassiveRateLimiter
	// dropped counts the events beyond the budgets since loggedAt.
	dropped  int
	loggedAt time.Time
}

// parentProblems are those of one parent.
type parentProblems struct {
	uid types.UID
	all []reportedProblem // the oldest first
	// failed is set if an event has reported a failure, so that another one reports its end.
	failed bool
}

// reportedProblem is a problem with the time of its last event, which is zero before the first.
type reportedProblem struct {
	hash      uint64
	emittedAt time.Time
	failure   bool
	// dropped is set if the event that is due was counted as dropped.
	dropped bool
}

func newProblems(clock clock.PassiveClock) *problems {
	limiter := func(l EventLimits) flowcontrol.PassiveRateLimiter {
		return flowcontrol.NewTokenBucketPassiveRateLimiterWithClock(l.QPS, l.Burst, clock)
	}
	return &problems{
		clock: clock, seed: maphash.MakeSeed(), byParent: map[controller.Key]*parentProblems{},
		failures: limiter(failureEvents), warnings: limiter(warningEvents), rare: limiter(rareEvents),
		recoveries: limiter(recoveryEvents), reminders: limiter(reminderEvents), children: limiter(childEvents),
	}
}

// note records a problem, and returns what becomes of the event about it. One that is dropped comes when the parent is synced again and
// there is room.
func (p *problems) note(key controller.Key, uid types.UID, found problem) (outcome string) {
	identity := found.identity
	if identity == "" {
		identity = controller.Signature(found.message)
	}
	hash := maphash.Comparable(p.seed, [2]string{found.reason, identity})
	p.mu.Lock()
	defer p.mu.Unlock()
	known, now := p.problemLocked(key, uid, hash), p.clock.Now()
	known.failure = found.failure
	budget := p.reminders
	switch {
	case known.emittedAt.IsZero() && found.failure:
		budget = p.failures
	case known.emittedAt.IsZero():
		budget = p.warnings
	case now.Sub(known.emittedAt) < reminderInterval:
		return eventsRepeated
	}
	switch {
	case budget.TryAccept():
		known.emittedAt, known.dropped = now, false
		parent := p.byParent[key]
		parent.failed = parent.failed || found.failure
		return eventsEmitted
	case known.dropped:
		return eventsRepeated
	}
	known.dropped = true
	p.dropped++
	return eventsDropped
}

// problemLocked returns the problem of a parent with that hash, which it adds if it is new.
func (p *problems) problemLocked(key controller.Key, uid types.UID, hash uint64) *reportedProblem {
	parent := p.byParent[key]
	if parent == nil || parent.uid != uid {
		parent = &parentProblems{uid: uid}
		p.byParent[key] = parent
	}
	i := slices.IndexFunc(parent.all, func(r reportedProblem) bool { return r.hash == hash })
	if i < 0 {
		parent.all = append(parent.all[max(len(parent.all)-maxProblems+1, 0):], reportedProblem{hash: hash})
		i = len(parent.all) - 1
	}
	return &parent.all[i]
}

// noteSynced records that a sync of a parent has succeeded, and returns what becomes of the event about that: "" if no event had
// reported a failure.
func (p *problems) noteSynced(key controller.Key, uid types.UID) (outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	parent := p.byParent[key]
	if parent == nil {
		return ""
	}
	failed := parent.failed && parent.uid == uid
	parent.failed = false
	p.deleteLocked(key, parent, func(r reportedProblem) bool { return r.failure || parent.uid != uid })
	if !failed {
		return ""
	}
	return p.acceptLocked(p.recoveries)
}

// accept returns what becomes of an event that is no problem's, by one of the budgets.
func (p *problems) accept(budget flowcontrol.PassiveRateLimiter) (outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.acceptLocked(budget)
}

func (p *problems) acceptLocked(budget flowcontrol.PassiveRateLimiter) (outcome string) {
	if budget.TryAccept() {
		return eventsEmitted
	}
	p.dropped++
	return eventsDropped
}

// deleteLocked deletes problems of a parent, and the parent if it has no others.
func (p *problems) deleteLocked(key controller.Key, parent *parentProblems, del func(reportedProblem) bool) {
	if parent.all = slices.DeleteFunc(parent.all, del); len(parent.all) == 0 {
		delete(p.byParent, key)
	}
}

// expire forgets what was reported long ago and is no failure.
func (p *problems) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	for key, parent := range p.byParent {
		p.deleteLocked(key, parent, func(r reportedProblem) bool { return !r.failure && now.Sub(r.emittedAt) >= reminderInterval })
	}
}

// takeDropped returns how many events were dropped since it last returned any, once a minute.
func (p *problems) takeDropped() (count int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := p.clock.Now(); p.dropped > 0 && now.Sub(p.loggedAt) >= time.Minute {
		count, p.dropped, p.loggedAt = p.dropped, 0, now
	}
	return count
}

// forget drops a parent.
func (p *problems) forget(key controller.Key) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byParent, key)
}

// retain drops the parents that keep returns false for.
func (p *problems) retain(keep func(controller.Key) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.byParent, func(key controller.Key, _ *parentProblems) bool { return !keep(key) })
}
