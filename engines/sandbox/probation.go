package sandbox

import (
	"slices"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// probation holds back the calls about suspect objects: those of one definition share one worker, so that
// its other calls always have the rest. A call does not wait for another object's, because its caller has
// other work to do: it is told when to come back, and its object stands in line until then.
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
	minReturn, returnInterval, overdue = time.Second, 100 * time.Millisecond, 10 * time.Second
)

func newProbation(now func() time.Time) *probation {
	return &probation{now: now, lanes: map[string]*lane{}}
}

// enter returns zero if a call about the object may run now. Then leave must be called after it.
// Otherwise it returns after how long to try again.
func (p *probation) enter(owner string, object engines.Origin) time.Duration {
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
	next := l.calls == 0 && (at >= 0 && at < firstInLine || at < 0 && len(l.line) < firstInLine)
	if next || l.calls > 0 && l.object == object {
		if l.object, l.calls = object, l.calls+1; at >= 0 {
			l.line = slices.Delete(l.line, at, at+1)
		}
		return 0
	}
	if at < 0 {
		if at = len(l.line); at < maxLine {
			l.line = append(l.line, standing{object: object})
		}
	}
	wait := max(minReturn, time.Duration(at)*returnInterval)
	if at < maxLine {
		l.line[at].until = now.Add(wait + overdue)
	}
	return wait
}

// leave undoes enter.
func (p *probation) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lanes[owner].calls--
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
