package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// probation holds back the calls about objects on probation: those of one owner share one worker, so that
// its other calls always have the other workers. A call about another object does not wait for long, because
// its caller has other work to do: its error says when to try again, and its object is queued until then.
type probation struct {
	now func() time.Time

	mu     sync.Mutex
	owners map[string]*ownerProbation
}

// ownerProbation is the probation of one owner.
type ownerProbation struct {
	// object is the one that is being called about, and calls the number of these calls.
	object engines.Origin
	calls  int
	began  time.Time     // Of the first of them.
	free   chan struct{} // Closed at the end of the last of them.
	// queue has the objects whose calls are to be tried again, the first one first.
	queue []queuedObject
}

// queuedObject is an object that is queued until its call is tried again, or until that is overdue.
type queuedObject struct {
	object engines.Origin
	until  time.Time
}

const (
	// maxNext is how many objects at the head of a queue may be called about next, so that none waits for
	// the very first if that one is late.
	maxNext = 5
	// maxQueued bounds a queue.
	maxQueued = 1024
	// minRetry and retryInterval are after how long a call may be tried again: it takes longer for each
	// object that is queued before it. maxOverdue is how much later it may be.
	minRetry, retryInterval, maxOverdue = time.Second, 50 * time.Millisecond, 10 * time.Second
	// maxWait is how long a call may take for others to wait for it. Most calls end sooner.
	maxWait = 20 * time.Millisecond
)

func newProbation(now func() time.Time) *probation {
	return &probation{now: now, owners: map[string]*ownerProbation{}}
}

// enter returns zero if a call about the object may run now; leave must be called after it. Otherwise it
// returns after how long to try again.
func (p *probation) enter(ctx context.Context, owner string, object engines.Origin) time.Duration {
	for {
		wait, free := p.tryEnter(owner, object)
		if free == nil {
			return wait
		}
		timer := time.NewTimer(maxWait)
		select {
		case <-free:
		case <-timer.C:
		case <-ctx.Done():
			return wait
		}
		timer.Stop()
	}
}

// tryEnter is enter without waiting. If it returns a channel, a call may be able to run once that is closed.
func (p *probation) tryEnter(owner string, object engines.Origin) (wait time.Duration, free <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.prune(now)
	o := p.owners[owner]
	if o == nil {
		o = &ownerProbation{}
		p.owners[owner] = o
	}
	at := slices.IndexFunc(o.queue, func(q queuedObject) bool { return q.object == object })
	isNext := at >= 0 && at < maxNext || at < 0 && len(o.queue) < maxNext
	if o.calls == 0 && isNext || o.calls > 0 && o.object == object {
		o.enter(now, object)
		if at >= 0 {
			o.queue = slices.Delete(o.queue, at, at+1)
		}
		return 0, nil
	}
	if at < 0 {
		if at = len(o.queue); at < maxQueued {
			o.queue = append(o.queue, queuedObject{object: object})
		}
	}
	wait = max(minRetry, time.Duration(at)*retryInterval)
	if at < maxQueued {
		o.queue[at].until = now.Add(wait + maxOverdue)
	}
	if isNext && now.Sub(o.began) < maxWait {
		free = o.free
	}
	return wait, free
}

func (o *ownerProbation) enter(now time.Time, object engines.Origin) {
	if o.calls == 0 {
		o.object, o.began, o.free = object, now, make(chan struct{})
	}
	o.calls++
}

// leave undoes enter.
func (p *probation) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owners[owner]
	if o.calls--; o.calls == 0 {
		close(o.free)
	}
	p.prune(p.now())
}

// prune removes objects whose calls were not tried again, and owners without any.
func (p *probation) prune(now time.Time) {
	for owner, o := range p.owners {
		o.queue = slices.DeleteFunc(o.queue, func(q queuedObject) bool { return now.After(q.until) })
		if o.calls == 0 && len(o.queue) == 0 {
			delete(p.owners, owner)
		}
	}
}

// errProbation returns the error of a call that may be made after that time.
func errProbation(wait time.Duration) *engines.Error {
	return &engines.Error{
		Kind: engines.Exhausted, RetryAfter: wait,
		Message: "waits for its turn: calls about this object, or others of its namespace, have cost script workers, " +
			"so that one of these objects is called at a time",
	}
}
