//go:build linux

package hostile

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// sharedPool is a pool with a well-behaved definition.
type sharedPool struct {
	engines *engines.Registry
	good    engines.Program
	variant int
}

func newSharedPool(t *testing.T) *sharedPool {
	t.Helper()
	pool := sandbox.New(sandbox.Config{Workers: 2, Grace: 100 * time.Millisecond})
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

// times are those of the innocent calls.
type times struct {
	calls    int
	p50, p99 time.Duration
}

func (t times) String() string {
	return fmt.Sprintf("%d calls, p50 %v, p99 %v", t.calls, t.p50.Round(10*time.Microsecond), t.p99.Round(10*time.Microsecond))
}

// measure calls the innocent definition for a spell beside the other one.
func (s *sharedPool) measure(t *testing.T, other attack) times {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range attackers {
		s.variant++
		edited := attack{language: other.language, name: other.name, files: maps.Clone(other.files)}
		edited.files[edited.entry()] += fmt.Sprintf("\n// %d", s.variant)
		program := s.program(t, edited)
		group.Go(func() { keepCalling(ctx, program, otherCall) })
	}
	defer group.Wait()
	defer cancel()
	return measureCalls(t, s.good, func() engines.Call {
		call := request("good")
		call.Owner = "good"
		return call
	})
}

// measureCalls makes one call after another for a spell.
func measureCalls(t *testing.T, program engines.Program, calls func() engines.Call) times {
	t.Helper()
	var took []time.Duration
	for began := time.Now(); time.Since(began) < spell; {
		call, start := calls(), time.Now()
		if _, err := program.Run(t.Context(), call); err != nil {
			t.Errorf("the innocent call: %v", err)
		}
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	return times{calls: len(took), p50: took[len(took)/2], p99: took[len(took)*99/100]}
}

// keepCalling calls as fast as it can until it is told to come back later, and then waits like
// a reconciler, if not for so long.
func keepCalling(ctx context.Context, program engines.Program, calls func() engines.Call) {
	for ctx.Err() == nil {
		within, cancel := context.WithTimeout(ctx, patience)
		_, err := program.Run(within, calls()) // It fails, or is given up.
		var e *engines.Error
		if errors.As(err, &e) && e.RetryAfter > 0 {
			<-within.Done()
		}
		cancel()
	}
}

// otherCall returns a call of the hostile definition.
func otherCall() engines.Call {
	call := request("other")
	call.Owner = "other"
	return call
}

// startOfWorker is how long a pool's first call takes at present.
func startOfWorker(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	s := newSharedPool(t)
	if _, err := s.good.Run(t.Context(), request("first")); err != nil {
		t.Fatal(err)
	}
	return time.Since(began)
}
