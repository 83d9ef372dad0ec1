package sandbox

import (
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// probation holds back the calls about suspect objects: those of one definition share one worker, so that
// its other calls always have the rest. A call does not wait for another object's, because its caller has
// other work to do.
type probation struct {
	mu    sync.Mutex
	lanes map[string]*lane // By owner. Each is in use.
}

// lane is the probation of one owner, in use by the calls about one object.
type lane struct {
	object engines.Origin
	calls  int
}

func newProbation() *probation { return &probation{lanes: map[string]*lane{}} }

// enter reports whether a call about the object may run now. If so, leave must be called after it.
func (p *probation) enter(owner string, object engines.Origin) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[owner]
	if l == nil {
		l = &lane{object: object}
		p.lanes[owner] = l
	}
	if l.object != object {
		return false
	}
	l.calls++
	return true
}

// leave undoes enter.
func (p *probation) leave(owner string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	l := p.lanes[owner]
	if l.calls--; l.calls == 0 {
		delete(p.lanes, owner)
	}
}

// retryInterval spreads the attempts of suspect objects: all of them together make so many a second.
const retryInterval = 20 * time.Millisecond

// errProbation returns the error of a call that finds its lane in use. suspects is how many objects may.
func errProbation(suspects int) *engines.Error {
	return &engines.Error{
		Kind: engines.Exhausted, RetryAfter: max(time.Second, time.Duration(suspects)*retryInterval),
		Message: "waits for its turn: calls about this object, or others of its namespace, have cost script workers, " +
			"so that one of these objects is called at a time",
	}
}
