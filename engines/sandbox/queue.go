package sandbox

import "slices"

// queue are those who wait for a worker, by owner. Owners take turns; who has the
// fewest workers goes first.
type queue struct {
	owners  []string // Those who wait, the one who waits longest since its last turn first.
	waiting map[string][]*waiter
	held    map[string]int // How many workers each owner has.
	busy    int
}

// waiter is one who waits.
type waiter struct {
	owner string
	// fit tells how well an idle worker would do: the highest is chosen.
	fit func(*process) int
	// got is sent the worker, or why there is none. It has room for one.
	got chan granted
}

type granted struct {
	process *process
	err     error
}

func newQueue() *queue {
	return &queue{waiting: map[string][]*waiter{}, held: map[string]int{}}
}

func (q *queue) push(w *waiter) {
	if len(q.waiting[w.owner]) == 0 {
		q.owners = append(q.owners, w.owner)
	}
	q.waiting[w.owner] = append(q.waiting[w.owner], w)
}

// remove takes out one who gave up, and says whether it still waited.
func (q *queue) remove(w *waiter) bool {
	at := slices.Index(q.waiting[w.owner], w)
	if at < 0 {
		return false
	}
	q.waiting[w.owner] = slices.Delete(q.waiting[w.owner], at, at+1)
	if len(q.waiting[w.owner]) == 0 {
		q.forget(w.owner)
	}
	return true
}

func (q *queue) forget(owner string) {
	delete(q.waiting, owner)
	q.owners = slices.DeleteFunc(q.owners, func(o string) bool { return o == owner })
}

// next takes out whose turn it is, or gives nil if nobody may go now. Up to limit
// workers are anybody's; one more is for an owner that has none, so that nobody
// who hangs in all of them keeps the others out.
func (q *queue) next(limit int) *waiter {
	best := -1
	for i, owner := range q.owners {
		if best < 0 || q.held[owner] < q.held[q.owners[best]] {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	owner := q.owners[best]
	if q.busy > limit || q.busy == limit && q.held[owner] > 0 {
		return nil
	}
	w := q.waiting[owner][0]
	q.owners = append(slices.Delete(q.owners, best, best+1), owner)
	q.remove(w)
	q.held[owner]++
	q.busy++
	return w
}

// putBack undoes next.
func (q *queue) putBack(w *waiter) {
	q.done(w.owner)
	q.owners = append([]string{w.owner}, slices.DeleteFunc(q.owners, func(o string) bool { return o == w.owner })...)
	q.waiting[w.owner] = append([]*waiter{w}, q.waiting[w.owner]...)
}

// done gives a worker of the owner's back.
func (q *queue) done(owner string) {
	q.busy--
	if q.held[owner]--; q.held[owner] == 0 {
		delete(q.held, owner)
	}
}

// drain takes out all who wait.
func (q *queue) drain() []*waiter {
	var all []*waiter
	for _, owner := range q.owners {
		all = append(all, q.waiting[owner]...)
	}
	q.owners, q.waiting = nil, map[string][]*waiter{}
	return all
}

// len is how many wait.
func (q *queue) len() int {
	n := 0
	for _, all := range q.waiting {
		n += len(all)
	}
	return n
}
