// Package health keeps how the parents of a definition are: synced, failing or waiting, since when and for what reason, and how their last
// syncs ended.
package health

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

// State is how a parent is.
type State string

// States of parents. A sync that ends with something transient leaves the state as it is.
const (
	Synced  State = "synced"
	Failing State = "failing"
	Waiting State = "waiting" // A hook has answered waiting.
	Pending State = "pending" // There was no sync yet.
)

// End is how a pass ended.
type End struct {
	Err   error
	Waits []variant.Wait
	// Edit is that of the definition and its scripts by which the parent was synced.
	Edit string
	// Inputs is the number of inputs of a map, and FailingInputs how many of them have a problem. They are known if the inputs were read.
	Inputs, FailingInputs int32
	InputsKnown           bool
}

// States holds how the parents of a definition are. Kept in memory: the first passes after a start learn it again. A parent that is
// synced takes no memory, unless it has inputs.
type States struct {
	clock clock.PassiveClock
	seed  maphash.Seed

	mu       sync.Mutex
	byParent map[controller.Key]*parentState
	pending  map[controller.Key]struct{}
	total    counts
	// serving is the revision of the scripts that serves, and behind are the parents that were synced last by another one, or not yet.
	serving string
	behind  map[controller.Key]string
	// sweep is set from Begin, at beganAt, until no parent is pending for the first time.
	sweep   bool
	beganAt time.Time
}

// counts is what one parent adds to the sums over all parents.
type counts struct {
	failing, waiting                     int32
	inputs, failingInputs, waitingInputs int32
}

// parentState is the state of one parent.
type parentState struct {
	uid   types.UID
	state State
	// cause is why the parent fails or waits. Parents with the same text share it.
	cause     unique.Handle[failure.Cause]
	signature uint64 // of the cause
	since     time.Time
	// postponedAt is when the first of the latest syncs ended that all ended with ErrLater, or zero, and busy whether for a host that is busy.
	postponedAt time.Time
	busy        bool
	counts      counts
}

// NewStates returns States that know no parent.
func NewStates(clock clock.PassiveClock) *States {
	return &States{
		clock: clock, seed: maphash.MakeSeed(), byParent: map[controller.Key]*parentState{}, pending: map[controller.Key]struct{}{},
		behind: map[controller.Key]string{},
	}
}

// BeginSweep notes that all parents are about to be synced. Those that are known and not among them are dropped.
func (s *States) BeginSweep(parents []controller.Key) {
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

// Add notes a new parent.
func (s *States) Add(key controller.Key, uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.byParent[key]; known != nil && known.uid != uid {
		s.drop(key)
	}
	s.pending[key], s.behind[key] = struct{}{}, ""
}

// Forget drops a parent that is gone, and named whether the summary has changed.
func (s *States) Forget(key controller.Key) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, known := s.byParent[key]
	s.drop(key)
	delete(s.behind, key)
	return s.done(key) || known
}

// Set notes how a pass ended, and named whether the summary has changed.
func (s *States) Set(key controller.Key, uid types.UID, end End) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := parentState{uid: uid, state: Synced}
	if known := s.byParent[key]; known != nil && known.uid == uid {
		before = *known
	} else if _, pending := s.pending[key]; pending {
		before.state = Pending
	}
	next := before
	next.advance(s.clock.Now(), s.seed, end)
	s.drop(key)
	if next.counts != (counts{}) || !next.postponedAt.IsZero() {
		kept := next // A parent that is synced allocates nothing.
		s.byParent[key] = &kept
		s.total.add(next.counts, 1)
	}
	swept := next.state != Pending && s.done(key)
	updated := !errors.Is(end.Err, controller.ErrLater) && s.noteEdit(key, end.Edit)
	return swept || updated || before.state != next.state || before.signature != next.signature || before.counts != next.counts
}

// IsPostponed named whether all syncs of a parent have ended with ErrLater for so long that it counts as failing.
func (s *States) IsPostponed(key controller.Key, uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byParent[key]
	return known != nil && known.uid == uid && !known.postponedAt.IsZero() && s.clock.Since(known.postponedAt) >= longPostponed
}

// drop removes what is known about a parent. The caller holds the lock, as for done.
func (s *States) drop(key controller.Key) {
	if known := s.byParent[key]; known != nil {
		s.total.add(known.counts, -1)
		delete(s.byParent, key)
	}
}

// HasSwept named whether all parents have been synced since the start.
func (s *States) HasSwept() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.beganAt.IsZero() && !s.sweep
}

// done notes that a parent is not pending, and named whether that ends the sweep over all of them.
func (s *States) done(key controller.Key) (swept bool) {
	delete(s.pending, key)
	if !s.sweep || len(s.pending) > 0 {
		return false
	}
	s.sweep, s.pending = false, map[controller.Key]struct{}{} // The large map is not needed any more.
	return true
}

// advance changes the state to that after a pass. It keeps since when the parent fails if it fails in the same way.
func (s *parentState) advance(now time.Time, seed maphash.Seed, end End) {
	next, why, text := Synced, failure.Cause{}, ""
	switch {
	case end.Err != nil && errors.Is(end.Err, controller.ErrLater):
		if busy := failure.IsBusy(end.Err); s.postponedAt.IsZero() || s.busy != busy {
			s.postponedAt, s.busy = now, busy
		}
		if s.state == Failing || now.Sub(s.postponedAt) < longPostponed {
			return
		}
		next, text, why = Failing, end.Err.Error(), failure.CauseOf(end.Err)
		if s.busy {
			next = Waiting
		}
	case end.Err != nil:
		s.postponedAt = time.Time{}
		next, text, why = Failing, end.Err.Error(), failure.CauseOf(end.Err)
	case len(end.Waits) > 0:
		s.postponedAt = time.Time{}
		next, text, why = Waiting, end.Waits[0].String(), failure.CauseOfWait(end.Waits[0])
	default:
		s.postponedAt = time.Time{}
	}
	signature := uint64(0)
	if text != "" {
		signature = maphash.String(seed, failure.IdentityOf(why.Place, text))
	}
	if next != s.state || signature != s.signature {
		s.state, s.signature, s.since, s.cause = next, signature, now, unique.Make(why)
	}
	s.counts = s.countsAfter(end)
}

// countsAfter returns what the parent adds to the sums.
func (s *parentState) countsAfter(end End) counts {
	after := counts{inputs: s.counts.inputs, waitingInputs: int32(inputsOf(end.Waits))}
	switch {
	case end.InputsKnown:
		after.inputs, after.failingInputs = end.Inputs, end.FailingInputs
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
