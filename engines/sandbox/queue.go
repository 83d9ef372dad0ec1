package sandbox

import "slices"

// queue holds the calls that wait for a worker, by owner. Owners take turns; the owner with the fewest
// workers goes first.
type queue struct {
	owners      []string // Owners with waiters. The one whose last turn is longest ago comes first.
	waiting     map[string][]*waiter
	busyByOwner map[string]int // How many workers each owner has.
	busy        int
}

// waiter is a call that waits for a worker.
type waiter struct {
	owner string
	// score rates an idle worker. The worker with the highest score is chosen.
	score func(*process) int
	// result receives the worker or an error. It has a buffer of one.
	result chan grant
}

type grant struct {
	process *process
	err     error
}

func newQueue() *queue {
	return &queue{waiting: map[string][]*waiter{}, busyByOwner: map[string]int{}}
}

func (q *queue) push(w *waiter) {
	if len(q.waiting[w.owner]) == 0 {
		q.owners = append(q.owners, w.owner)
	}
	q.waiting[w.owner] = append(q.waiting[w.owner], w)
}

// remove removes a waiter. It reports whether the waiter was still in the queue.
func (q *queue) remove(w *waiter) bool {
	at := slices.Index(q.waiting[w.owner], w)
	if at < 0 {
		return false
	}
	q.waiting[w.owner] = slices.Delete(q.waiting[w.owner], at, at+1)
	if len(q.waiting[w.owner]) == 0 {
		q.removeOwner(w.owner)
	}
	return true
}

func (q *queue) removeOwner(owner string) {
	delete(q.waiting, owner)
	q.owners = slices.DeleteFunc(q.owners, func(o string) bool { return o == owner })
}

// next removes and returns the next waiter, or returns nil if none may run now. Up to limit workers are
// for all owners. One more is for an owner that has none, so that an owner whose calls hang in all
// workers does not block the others.
func (q *queue) next(limit int) *waiter {
	best := -1
	for i, owner := range q.owners {
		if best < 0 || q.busyByOwner[owner] < q.busyByOwner[q.owners[best]] {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	owner := q.owners[best]
	if q.busy > limit || q.busy == limit && q.busyByOwner[owner] > 0 {
		return nil
	}
	w := q.waiting[owner][0]
	q.owners = append(slices.Delete(q.owners, best, best+1), owner)
	q.remove(w)
	q.busyByOwner[owner]++
	q.busy++
	return w
}

// requeue undoes next.
func (q *queue) requeue(w *waiter) {
	q.release(w.owner)
	q.owners = append([]string{w.owner}, slices.DeleteFunc(q.owners, func(o string) bool { return o == w.owner })...)
	q.waiting[w.owner] = append([]*waiter{w}, q.waiting[w.owner]...)
}

// release records that the owner has one worker less.
func (q *queue) release(owner string) {
	q.busy--
	if q.busyByOwner[owner]--; q.busyByOwner[owner] == 0 {
		delete(q.busyByOwner, owner)
	}
}

// drain removes and returns all waiters.
func (q *queue) drain() []*waiter {
	var all []*waiter
	for _, owner := range q.owners {
		all = append(all, q.waiting[owner]...)
	}
	q.owners, q.waiting = nil, map[string][]*waiter{}
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
