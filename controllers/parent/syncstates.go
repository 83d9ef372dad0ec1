package parent

import (
	"errors"
	"hash/maphash"
	"sync"
	"time"
	"unique"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// longPostponed is for how long all syncs of a parent may end with ErrLater before it counts as failing.
const longPostponed = time.Minute

// SyncState is how the last sync of a parent ended.
type SyncState string

// States of parents. A sync that ends with something transient leaves the state as it is.
const (
	Synced  SyncState = "synced"
	Failing SyncState = "failing"
	Waiting SyncState = "waiting" // A hook has answered waiting.
	Pending SyncState = "pending" // There was no sync yet.
)

// outcome is how a pass ended, for the states of parents.
type outcome struct {
	err   error
	waits []variant.Wait
	// revision is that of the scripts by which the parent was synced.
	revision string
	// inputs is the number of inputs of a map, and failingInputs how many of them have a problem. They are known if the inputs were read.
	inputs, failingInputs int32
	inputsKnown           bool
}

// syncStates holds how the parents of a definition are. Kept in memory: the first passes after a start learn it again. A parent that is
// synced takes no memory, unless it has inputs.
type syncStates struct {
	clock clock.PassiveClock
	seed  maphash.Seed

	mu       sync.Mutex
	byParent map[controller.Key]*syncState
	pending  map[controller.Key]struct{}
	total    counts
	// serving is the revision of the scripts that serves, and behind are the parents that were synced last by another one, or not yet.
	serving string
	behind  map[controller.Key]string
	// sweep is set from begin, at beganAt, until no parent is pending for the first time.
	sweep   bool
	beganAt time.Time
}

// counts is what one parent adds to the sums over all parents.
type counts struct {
	failing, waiting                     int32
	inputs, failingInputs, waitingInputs int32
}

// syncState is the state of one parent.
type syncState struct {
	uid   types.UID
	state SyncState
	// cause is why the parent fails or waits. Parents with the same text share it.
	cause     unique.Handle[failure.Cause]
	signature uint64 // of the cause
	since     time.Time
	// postponedAt is when the first of the latest syncs ended that all ended with ErrLater, or zero, and busy whether for a host that is busy.
	postponedAt time.Time
	busy        bool
	counts      counts
}

func newSyncStates(clock clock.PassiveClock) *syncStates {
	return &syncStates{
		clock: clock, seed: maphash.MakeSeed(), byParent: map[controller.Key]*syncState{}, pending: map[controller.Key]struct{}{},
		behind: map[controller.Key]string{},
	}
}

// begin notes that all parents are about to be synced. Those that are known and not among them are dropped.
func (s *syncStates) begin(parents []controller.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending, s.behind = make(map[controller.Key]struct{}, len(parents)), make(map[controller.Key]string, len(parents))
	for _, key := range parents {
		s.pending[key], s.behind[key] = struct{}{}, ""
	}
	for key := range s.byParent {
		if _, is := s.pending[key]; !is {
			s.drop(key)
		}
	}
	s.sweep, s.beganAt = len(parents) > 0, s.clock.Now()
}

// add notes a new parent.
func (s *syncStates) add(key controller.Key, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byParent[key]; known != nil && known.uid != uid {
		s.drop(key)
	}
	s.pending[key], s.behind[key] = struct{}{}, ""
}

// forget drops a parent that is gone, and reports whether the summary has changed.
func (s *syncStates) forget(key controller.Key) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.byParent[key]
	s.drop(key)
	delete(s.behind, key)
	return s.done(key) || known
}

// set notes how a pass ended, and reports whether the summary has changed.
func (s *syncStates) set(key controller.Key, uid types.UID, o outcome) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := syncState{uid: uid, state: Synced}
	if known := s.byParent[key]; known != nil && known.uid == uid {
		before = *known
	} else if _, pending := s.pending[key]; pending {
		before.state = Pending
	}
	next := before
	next.advance(s.clock.Now(), s.seed, o)
	s.drop(key)
	if next.counts != (counts{}) || !next.postponedAt.IsZero() {
		kept := next // A parent that is synced allocates nothing.
		s.byParent[key] = &kept
		s.total.add(next.counts, 1)
	}
	swept := next.state != Pending && s.done(key)
	updated := !errors.Is(o.err, controller.ErrLater) && s.noteRevision(key, o.revision)
	return swept || updated || before.state != next.state || before.signature != next.signature || before.counts != next.counts
}

// isPostponed reports whether all syncs of a parent have ended with ErrLater for so long that it counts as failing.
func (s *syncStates) isPostponed(key controller.Key, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byParent[key]
	return known != nil && known.uid == uid && !known.postponedAt.IsZero() && s.clock.Since(known.postponedAt) >= longPostponed
}

// drop removes what is known about a parent. The caller holds the lock, as for done.
func (s *syncStates) drop(key controller.Key) {
	if known := s.byParent[key]; known != nil {
		s.total.add(known.counts, -1)
		delete(s.byParent, key)
	}
}

// hasSwept reports whether all parents have been synced since the start.
func (s *syncStates) hasSwept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.beganAt.IsZero() && !s.sweep
}

// done notes that a parent is not pending, and reports whether that ends the sweep over all of them.
func (s *syncStates) done(key controller.Key) (swept bool) {
	delete(s.pending, key)
	if !s.sweep || len(s.pending) > 0 {
		return false
	}
	s.sweep, s.pending = false, map[controller.Key]struct{}{} // The large map is not needed any more.
	return true
}

// advance changes the state to that after a pass. It keeps since when the parent fails if it fails in the same way.
func (s *syncState) advance(now time.Time, seed maphash.Seed, o outcome) {
	state, why, text := Synced, failure.Cause{}, ""
	switch {
	case o.err != nil && errors.Is(o.err, controller.ErrLater):
		if busy := failure.IsBusy(o.err); s.postponedAt.IsZero() || s.busy != busy {
			s.postponedAt, s.busy = now, busy
		}
		if s.state == Failing || now.Sub(s.postponedAt) < longPostponed {
			return
		}
		state, text, why = Failing, o.err.Error(), failure.CauseOf(o.err)
		if s.busy {
			state = Waiting
		}
	case o.err != nil:
		s.postponedAt = time.Time{}
		state, text, why = Failing, o.err.Error(), failure.CauseOf(o.err)
	case len(o.waits) > 0:
		s.postponedAt = time.Time{}
		state, text, why = Waiting, o.waits[0].String(), failure.CauseOfWait(o.waits[0])
	default:
		s.postponedAt = time.Time{}
	}
	signature := uint64(0)
	if text != "" {
		signature = maphash.String(seed, failure.IdentityOf(why.Place, text))
	}
	if state != s.state || signature != s.signature {
		s.state, s.signature, s.since, s.cause = state, signature, now, unique.Make(why)
	}
	s.counts = s.countsAfter(o)
}

// countsAfter returns what the parent adds to the sums.
func (s *syncState) countsAfter(o outcome) counts {
	after := counts{inputs: s.counts.inputs, waitingInputs: int32(inputsOf(o.waits))}
	switch {
	case o.inputsKnown:
		after.inputs, after.failingInputs = o.inputs, o.failingInputs
	case s.state == Failing:
		after.failingInputs = after.inputs
	}
	switch s.state {
	case Failing:
		after.failing = 1
	case Waiting:
		after.waiting = 1
	}
	return after
}

// add adds other so many times.
func (c *counts) add(other counts, times int32) {
	c.failing += times * other.failing
	c.waiting += times * other.waiting
	c.inputs += times * other.inputs
	c.failingInputs += times * other.failingInputs
	c.waitingInputs += times * other.waitingInputs
}
