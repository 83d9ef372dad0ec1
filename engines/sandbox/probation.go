package sandbox

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// probation holds back the calls about suspect objects: those of one definition share one worker, so that
// its other calls always have the rest. A call does not wait long for another object's, because its caller
// has other work to do: it is told when to come back, and its object stands in line until then.
type probation struct {
	now func() time.Time

	mu    sync.Mutex
	lanes map[string]*lane // By owner.
}

// lane is the probation of one owner.
type lane struct {
	// object is the one that is being called about, by so many calls.
	object engines.Origin
	calls  int
	began  time.Time     // Of the first of them.
	free   chan struct{} // Closed at the end of the last of them.
	// line has the objects that were sent away, the first one first.
	line []standing
}

// standing is an object that stands in line until it has not come back for long.
type standing struct {
	object engines.Origin
	until  time.Time
}

const (
	// firstInLine is how many objects of a line may be called about next: the very first may take its time.
	firstInLine = 5
	// maxLine bounds a line.
	maxLine = 1024
	// minReturn and returnInterval are after how long an object may come back: it takes longer for each
	// that stands before it. overdue is how much later it may be.
	minReturn, returnInterval, overdue = time.Second, 50 * time.Millisecond, 10 * time.Second
	// brief is how long a call may take for others to wait for it. Most calls are good, and end sooner.
	brief = 20 * time.Millisecond
)

func newProbation(now func() time.Time) *probation {
	return &probation{now: now, lanes: map[string]*lane{}}
}

// enter returns zero if a call about the object may run now. Then leave must be called after it.
// Otherwise it returns after how long to try again.
func (p *probation) enter(ctx context.Context, owner string, object engines.Origin) time.Duration {
	for {
		wait, free := p.tryEnter(owner, object)
		if free == nil {
			return wait
		}
		timer := time.NewTimer(brief)
		select {
		case <-free:
		case <-timer.C:
		case <-ctx.Done():
			return wait
		}
		timer.Stop()
	}
}

// tryEnter is enter without waiting. If it returns a channel, the lane will be free soon after that is
// closed.
func (p *probation) tryEnter(owner string, object engines.Origin) (wait time.Duration, free <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	p.prune(now)
	l := p.lanes[owner]
	if l == nil {
		l = &lane{}
		p.lanes[owner] = l
	}
	at := slices.IndexFunc(l.line, func(s standing) bool { return s.object == object })
	isNext := at >= 0 && at < firstInLine || at < 0 && len(l.line) < firstInLine
	if l.calls == 0 && isNext || l.calls > 0 && l.object == object {
		l.enter(now, object)
		if at >= 0 {
			l.line = slices.Delete(l.line, at, at+1)
		}
		return 0, nil
	}
	if at < 0 {
		if at = len(l.line); at < maxLine {
			l.line = append(l.line, standing{object: object})
		}
	}
	wait = max(minReturn, time.Duration(at)*returnInterval)
	if at < maxLine {
		l.line[at].until = now.Add(wait + overdue)
	}
	if isNext && now.Sub(l.began) < brief {
		free = l.free
	}
	return wait, free
}

func (l *lane) enter(now time.Time, object engines.Origin) {
	if l.calls == 0 {
		l.object, l.began, l.free = object, now, make(chan struct{})
	}
	l.calls++
}

// leave undoes enter.
func (p *probation) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[owner]
	if l.calls--; l.calls == 0 {
		close(l.free)
	}
	p.prune(p.now())
}

// prune removes objects that have not come back, and lanes that are not used.
func (p *probation) prune(now time.Time) {
	for owner, l := range p.lanes {
		l.line = slices.DeleteFunc(l.line, func(s standing) bool { return now.After(s.until) })
		if l.calls == 0 && len(l.line) == 0 {
			delete(p.lanes, owner)
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
