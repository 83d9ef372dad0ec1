package sandbox

import (
	"iter"
	"slices"
)

// turn is whose turn it is to have a worker: an owner's. Its calls on probation have turns of their own.
type turn struct {
	owner     string
	probation bool
}

// queue holds the calls that wait for a worker, by turn. Owners take turns; the one with the fewest
// workers goes first.
type queue struct {
	turns   []turn // Those with waiters. The one whose last turn is longest ago comes first.
	waiting map[turn][]*waiter
	// busy has how many workers each has, and onProbation how many all have that are on probation.
	busyByTurn  map[turn]int
	busy        int
	onProbation int
}

// waiter is a call that waits for a worker.
type waiter struct {
	turn
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
	return &queue{waiting: map[turn][]*waiter{}, busyByTurn: map[turn]int{}}
}

func (q *queue) push(w *waiter) {
	if len(q.waiting[w.turn]) == 0 {
		q.turns = append(q.turns, w.turn)
	}
	q.waiting[w.turn] = append(q.waiting[w.turn], w)
}

// remove removes a waiter. It reports whether the waiter was still in the queue.
func (q *queue) remove(w *waiter) bool {
	at := slices.Index(q.waiting[w.turn], w)
	if at < 0 {
		return false
	}
	q.waiting[w.turn] = slices.Delete(q.waiting[w.turn], at, at+1)
	if len(q.waiting[w.turn]) == 0 {
		delete(q.waiting, w.turn)
		q.turns = slices.DeleteFunc(q.turns, func(t turn) bool { return t == w.turn })
	}
	return true
}

// eligible returns the first waiter of each turn that may have a worker now, in the order of their turns.
// The queue must not change meanwhile.
func (q *queue) eligible(limit int) iter.Seq[*waiter] {
	return func(yield func(*waiter) bool) {
		for busy := 0; busy <= q.busy; busy++ {
			for _, t := range q.turns {
				if q.busyByTurn[t] == busy && q.mayRun(t, limit) && !yield(q.waiting[t][0]) {
					return
				}
			}
		}
	}
}

// mayRun reports whether one more worker may be given to a turn. Up to limit workers are for all. One more
// is for an owner that has none, so that an owner whose calls hang in all workers does not block the
// others. Calls on probation get half of the workers at most, and one for each owner.
func (q *queue) mayRun(t turn, limit int) bool {
	if t.probation {
		return q.busy < limit && q.busyByTurn[t] == 0 && q.onProbation < max(1, limit/2)
	}
	return q.busy < limit || q.busy == limit && q.busyByTurn[t] == 0
}

// take removes the waiter and counts the worker that it is given.
func (q *queue) take(w *waiter) {
	q.remove(w)
	if at := slices.Index(q.turns, w.turn); at >= 0 {
		q.turns = append(slices.Delete(q.turns, at, at+1), w.turn)
	}
	q.busyByTurn[w.turn]++
	q.busy++
	if w.probation {
		q.onProbation++
	}
}

// release records that the turn has one worker less.
func (q *queue) release(t turn) {
	q.busy--
	if q.busyByTurn[t]--; q.busyByTurn[t] == 0 {
		delete(q.busyByTurn, t)
	}
	if t.probation {
		q.onProbation--
	}
}

// drain removes and returns all waiters.
func (q *queue) drain() []*waiter {
	var all []*waiter
	for _, t := range q.turns {
		all = append(all, q.waiting[t]...)
	}
	q.turns, q.waiting = nil, map[turn][]*waiter{}
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
