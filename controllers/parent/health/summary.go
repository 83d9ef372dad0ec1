package health

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/utils/ptr"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// maxNamed is how many of the parents that fail or wait are named.
const maxNamed = 3

// Summary is how the parents of a definition are.
type Summary struct {
	// Parents is the number of all. Each is in one of the states that are counted.
	Parents, Synced, Failing, Waiting, Pending int32
	// Updated is the number of parents whose last sync was by the scripts that serve.
	Updated int32
	// Inputs are those of a map, of all parents.
	Inputs, SyncedInputs, FailingInputs, WaitingInputs int32
	// Outdated is the number of children that OnDelete leaves alone, or nil if no rule has that method.
	Outdated *int32
	// Ways is in how many ways parents fail.
	Ways int
	// Failures are some of the parents that fail, and Waits some of those that wait. First come parents that differ in the way, and of those
	// the ones that have been like that for longest.
	Failures, Waits []ParentHealth
	// Sweeping is set from SweepBegan, the start, until all parents that there were are synced. Before, the counts say little.
	Sweeping   bool
	SweepBegan time.Time
}

// ParentHealth is how one parent is.
type ParentHealth struct {
	Parent controller.Key
	// Reason is a word in CamelCase. Message is one line, which has the place.
	Reason, Message string
	// Place is file:line:column of the script that failed, or empty.
	Place string
	// Since is when the parent began to fail in this way, or to wait for this reason.
	Since time.Time
}

// Add adds the parents of another shard of the definition. A way to fail of both counts twice.
func (s *Summary) Add(o Summary) {
	for _, count := range []struct {
		to *int32
		of int32
	}{
		{&s.Parents, o.Parents}, {&s.Synced, o.Synced}, {&s.Failing, o.Failing}, {&s.Waiting, o.Waiting}, {&s.Pending, o.Pending},
		{&s.Updated, o.Updated}, {&s.Inputs, o.Inputs}, {&s.SyncedInputs, o.SyncedInputs}, {&s.FailingInputs, o.FailingInputs},
		{&s.WaitingInputs, o.WaitingInputs},
	} {
		*count.to += count.of
	}
	if o.Outdated != nil {
		s.Outdated = new(ptr.Deref(s.Outdated, 0) + *o.Outdated)
	}
	s.Ways += o.Ways
	join := func(a, b []ParentHealth) []ParentHealth {
		all := slices.Concat(a, b)
		return all[:min(len(all), maxNamed)]
	}
	s.Failures, s.Waits = join(s.Failures, o.Failures), join(s.Waits, o.Waits)
	if o.Sweeping && (!s.Sweeping || o.SweepBegan.Before(s.SweepBegan)) {
		s.SweepBegan = o.SweepBegan
	}
	s.Sweeping = s.Sweeping || o.Sweeping
}

// Summary returns how the parents are, of which there are so many. It takes time for each that fails or waits.
func (s *States) Summary(parents int32) Summary {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := Summary{
		Parents: parents, Failing: s.total.failing, Waiting: s.total.waiting,
		Inputs: s.total.inputs, FailingInputs: s.total.failingInputs, WaitingInputs: s.total.waitingInputs,
		SyncedInputs: s.total.inputs - s.total.failingInputs - s.total.waitingInputs,
		Sweeping:     s.sweep, SweepBegan: s.beganAt,
	}
	for key := range s.pending {
		if known := s.byParent[key]; known == nil || known.state == Pending {
			all.Pending++
		}
	}
	// The caches may be ahead of the states, or behind them.
	all.Synced = max(0, parents-all.Failing-all.Waiting-all.Pending)
	all.Updated = max(0, parents-int32(len(s.behind)))
	if all.Failing > 0 {
		all.Failures, all.Ways = s.named(Failing)
	}
	if all.Waiting > 0 {
		all.Waits, _ = s.named(Waiting)
	}
	return all
}

// named returns some of the parents in a state, and how many ways of it there are. The caller holds the lock.
func (s *States) named(state State) (named []ParentHealth, ways int) {
	type candidate struct {
		key   controller.Key
		known *parentState
		first bool // of its way
	}
	older := func(a, b candidate) int {
		if order := a.known.since.Compare(b.known.since); order != 0 {
			return order
		}
		return cmp.Compare(a.key.String(), b.key.String())
	}
	firsts := map[uint64]candidate{}
	for key, known := range s.byParent {
		c := candidate{key, known, true}
		if first, met := firsts[known.signature]; known.state == state && (!met || older(c, first) < 0) {
			firsts[known.signature] = c
		}
	}
	var chosen []candidate
	keep := func(c candidate) {
		chosen = append(chosen, c)
		slices.SortFunc(chosen, func(a, b candidate) int {
			if a.first != b.first {
				return map[bool]int{true: -1, false: 1}[a.first]
			}
			return older(a, b)
		})
		chosen = chosen[:min(len(chosen), maxNamed)]
	}
	for _, c := range firsts {
		keep(c)
	}
	if len(firsts) < maxNamed {
		for key, known := range s.byParent {
			if known.state == state && firsts[known.signature].key != key {
				keep(candidate{key, known, false})
			}
		}
	}
	for _, c := range chosen {
		why := c.known.cause.Value()
		named = append(named, ParentHealth{c.key, why.Reason, why.Message, why.Place, c.known.since})
	}
	return named, len(firsts)
}
