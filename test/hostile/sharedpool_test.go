//go:build linux

package hostile

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// sharedPool is a pool with a well-behaved definition.
type sharedPool struct {
	engines *engines.Registry
	good    engines.Program
}

func newSharedPool(t *testing.T) *sharedPool {
	t.Helper()
	pool := sandbox.New(sandbox.Config{Workers: 2, Grace: 50 * time.Millisecond})
	t.Cleanup(pool.Close)
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(definitions())...)
	if err != nil {
		t.Fatal(err)
	}
	s := &sharedPool{engines: registry}
	s.good = s.program(t, one("JavaScript", "sync.js", innocent["JavaScript"]["sync.js"]))
	return s
}

func (s *sharedPool) program(t *testing.T, a attack) engines.Program {
	t.Helper()
	engine, err := s.engines.ByName(a.language)
	if err != nil {
		t.Fatal(err)
	}
	program, err := engine.Compile(t.Context(), engines.Source{Hook: "sync", Script: &engines.Script{Files: a.files, Path: a.entry(), MemoryBytes: 64 << 20}})
	if err != nil {
		t.Fatal(err)
	}
	return program
}

const (
	// attackers is how many calls of the hostile definition are under way at any time:
	// more than there are workers for everybody.
	attackers = 3
	// patience is how long an attack may compute, and how long one that is refused waits until the next try.
	patience = 50 * time.Millisecond
	// rounds is how many attacks come to an end, or are refused, while innocent calls are made.
	rounds = 2 * attackers
)

// attacks are the calls of a hostile definition, which are made until the test ends.
type attacks struct {
	// ran is how many of them came to an end in a worker, held how many had it for all of their time, and refused how many got none.
	ran, held, refused atomic.Int64
}

// start has calls of each of the programs made, one after another, until stop is called.
func start(t *testing.T, programs []engines.Program, calls func() engines.Call) (a *attacks, stop func()) {
	a = &attacks{}
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for _, program := range programs {
		group.Go(func() { a.keepCalling(ctx, program, calls) })
	}
	return a, func() { cancel(); group.Wait() }
}

// keepCalling calls as fast as it can until an answer says to come back later, and then waits like
// a reconciler, if not for so long.
func (a *attacks) keepCalling(ctx context.Context, program engines.Program, calls func() engines.Call) {
	for ctx.Err() == nil {
		within, cancel := engines.WithTimeout(ctx, patience)
		_, err := program.Run(within, calls()) // It fails, or is given up.
		cancel()
		var e *engines.Error
		if !errors.As(err, &e) || e.RetryAfter == 0 || errors.Is(err, engines.ErrNoWorker) {
			if kind := engines.KindOf(err); kind == engines.Timeout || kind == engines.Busy {
				a.held.Add(1)
			}
			a.ran.Add(1)
			continue
		}
		a.refused.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(patience):
		}
	}
}

// disturbs makes at least so many innocent calls, one after another, while attacks are made. None may fail. It reports whether most of them
// saw an attack end that has held a worker: a call that waits for a worker sees that each time. How long the calls take says more about the
// machine.
func (a *attacks) disturbs(t *testing.T, program engines.Program, calls func() engines.Call, least int) bool {
	t.Helper()
	made, disturbed := 0, 0
	for end := a.ran.Load() + a.refused.Load() + rounds; made < least || a.ran.Load()+a.refused.Load() < end; made++ {
		before := a.held.Load()
		if _, err := program.Run(t.Context(), calls()); err != nil {
			t.Errorf("the innocent call: %v", err)
		}
		if a.held.Load() > before {
			disturbed++
		}
	}
	t.Logf("%d innocent calls, %d of which saw an attack end; %d attacks had a worker, %d of them for all of their time, and %d were refused",
		made, disturbed, a.ran.Load(), a.held.Load(), a.refused.Load())
	return disturbed > made/2
}

// otherCall returns a call of the hostile definition.
func otherCall() engines.Call {
	call := request("other")
	call.Owner = "other"
	return call
}
