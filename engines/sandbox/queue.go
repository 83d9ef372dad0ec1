package sandbox

import (
	"iter"
	"slices"
)

// flow is the key of fair queuing: the calls of an owner are one flow, its calls on probation another, and those in the
// background a third.
type flow struct {
	owner      string
	probation  bool
	background bool
}

// queue holds the calls that wait for a worker, by flow. Flows take turns; the one with the fewest workers
// goes first.
type queue struct {
	flows   []flow // Flows with waiters. The one whose last turn is longest ago comes first.
	waiting map[flow][]*waiter
	// busyByFlow is the number of workers of each flow, busy that of all flows, onProbation that of all
	// flows on probation, and background that of all flows in the background.
	busyByFlow  map[flow]int
	busy        int
	onProbation int
	background  int
}

// waiter is a call that waits for a worker.
type waiter struct {
	flow
	program *program
	// preferred is the slot of the worker that has most of the objects of the call, or -1.
	preferred int
	// result receives the worker or an error. It has a buffer of one.
	result chan grant
}

type grant struct {
	process *process
	err     error
}

func newQueue() *queue {
	return &queue{waiting: map[flow][]*waiter{}, busyByFlow: map[flow]int{}}
}

func (q *queue) push(w *waiter) {
	if len(q.waiting[w.flow]) == 0 {
		q.flows = append(q.flows, w.flow)
	}
	q.waiting[w.flow] = append(q.waiting[w.flow], w)
}

// remove removes a waiter. It reports whether the waiter was still in the queue.
func (q *queue) remove(w *waiter) bool {
	at := slices.Index(q.waiting[w.flow], w)
	if at < 0 {
		return false
	}
	q.waiting[w.flow] = slices.Delete(q.waiting[w.flow], at, at+1)
	if len(q.waiting[w.flow]) == 0 {
		delete(q.waiting, w.flow)
		q.flows = slices.DeleteFunc(q.flows, func(f flow) bool { return f == w.flow })
	}
	return true
}

// eligible returns the first waiter of each flow that may have a worker now, in the order of their turns.
// The queue must not change meanwhile.
func (q *queue) eligible(limit int) iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for busy := 0; busy <= q.busy+1; busy++ {
			for _, f := range q.flows {
				if q.rank(f) == busy && q.mayRun(f, limit) && !yield(q.waiting[f][0]) {
					return
				}
			}
		}
	}
}

// rank orders flows: by the number of their workers, of which flows in the background count one more.
func (q *queue) rank(f flow) int {
	if f.background {
		return q.busyByFlow[f] + 1
	}
	return q.busyByFlow[f]
}

// mayRun reports whether a flow may have one more worker. Up to limit workers are for all flows. One more is
// for a flow that has none, so that an owner whose calls hang in all workers does not block the others.
// Flows on probation get at most half of the workers together, and one each. The same holds for flows in the background.
func (q *queue) mayRun(f flow, limit int) bool {
	switch {
	case f.background:
		return q.busy < limit && q.busyByFlow[f] == 0 && q.background < max(1, limit/2)
	case f.probation:
		return q.busy < limit && q.busyByFlow[f] == 0 && q.onProbation < max(1, limit/2)
	}
	return q.busy < limit || q.busy == limit && q.busyByFlow[f] == 0
}

// take removes the waiter and counts the worker that it is given.
func (q *queue) take(w *waiter) {
	q.remove(w)
	if at := slices.Index(q.flows, w.flow); at >= 0 {
		q.flows = append(slices.Delete(q.flows, at, at+1), w.flow)
	}
	q.busyByFlow[w.flow]++
	q.busy++
	if w.probation {
		q.onProbation++
	}
	if w.background {
		q.background++
	}
}

// release records that the flow has one worker less.
func (q *queue) release(f flow) {
	q.busy--
	if q.busyByFlow[f]--; q.busyByFlow[f] == 0 {
		delete(q.busyByFlow, f)
	}
	if f.probation {
		q.onProbation--
	}
	if f.background {
		q.background--
	}
}

// drain removes and returns all waiters.
func (q *queue) drain() []*waiter {
	var all []*waiter
	for _, f := range q.flows {
		all = append(all, q.waiting[f]...)
	}
	q.flows, q.waiting = nil, map[flow][]*waiter{}
	return all
}

// len returns the number of waiters.
func (q *queue) len() int {
	n := 0
	for _, all := range q.waiting {
		n += len(all)
	}
	return n
}
