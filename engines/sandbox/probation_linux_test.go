package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/race"
)

// clock is one that a test sets.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *clock { return &clock{now: time.Unix(0, 0)} }

func (c *clock) get() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// about returns a call about an object of a namespace.
func about(value any, namespace, id string) engines.Call {
	call := request(value)
	call.Owner, call.Seed, call.Origin = "CompositeController c", id, engines.Origin{ID: id, Namespace: namespace}
	return call
}

// TestDataOfOneObject has a hook that one object makes kill its workers, and no other.
func TestDataOfOneObject(t *testing.T) {
	registry, clock := prometheus.NewRegistry(), newClock()
	pool := newPool(t, sandbox.Config{Metrics: sandbox.NewMetrics(registry), Now: clock.get})
	text := `export function sync({value}) { return value ?? 'x'.repeat(2**40) }`
	program, edited := compiled(t, pool, text), compiled(t, pool, text+"//edited")
	bad := func(value any) error {
		_, err := program.Run(t.Context(), about(value, "a", "bad"))
		return err
	}
	for range 3 {
		wantError(t, bad(nil), engines.Exhausted, "more than its memory limit of 256Mi")
	}
	wantError(t, bad("fine"), engines.Exhausted, "not called until 00:01:00 UTC for this object")
	if open := program.CircuitOpen(); open != nil {
		t.Errorf("the program rests for what an object did: %v", open)
	}
	for name, call := range map[string]engines.Call{"of the tenant": about("fine", "a", "good"), "of another tenant": about("fine", "b", "other")} {
		if response, err := program.Run(t.Context(), call); err != nil || response.Body != "fine" {
			t.Errorf("an object %s: %v, error %v", name, response.Body, err)
		}
	}
	if response, err := edited.Run(t.Context(), about("fine", "a", "bad")); err != nil || response.Body != "fine" {
		t.Errorf("an edit is called at once: %v, error %v", response.Body, err)
	}
	clock.advance(time.Minute)
	if err := bad("fine"); err != nil {
		t.Errorf("it is called again after a minute: error %v", err)
	}
	eventually(t, "three deaths are counted", func() bool {
		return race.Enabled || exitsLogged(t, registry, `libretto_script_worker_ends_total{reason="memory"} 3`)
	})
}

// TestInterruptedCalls has a call that the engine interrupts at its deadline: no worker is killed, and
// none is free for others meanwhile.
func TestInterruptedCalls(t *testing.T) {
	pool := newPool(t, sandbox.Config{Now: newClock().get})
	program := compiled(t, pool, `export function sync({value}) { while (value); return 'alive' }`)
	call := func(value any) error {
		ctx, cancel := engines.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := program.Run(ctx, about(value, "a", "slow"))
		return err
	}
	eventually(t, "calls that use all of their time are held back", func() bool {
		return errors.Is(call(true), engines.ErrBackoff)
	})
	if response, err := program.Run(t.Context(), about(nil, "a", "other")); err != nil || response.Body != "alive" {
		t.Errorf("another object: %v, error %v", response.Body, err)
	}
}

// TestProbation has several objects of a definition hang. Once each has cost a worker, one of them is
// called at a time, the others have to come back, and those without fault have the other workers.
func TestProbation(t *testing.T) {
	for _, workers := range []int{1, 2} {
		t.Run(fmt.Sprint(workers, " workers"), func(t *testing.T) {
			pool := newPool(t, sandbox.Config{Workers: workers, Grace: 10 * time.Millisecond})
			program := probed(t, pool, "hang if true")
			hang := func(ctx context.Context, id int) error {
				_, err := program.Run(ctx, about(true, fmt.Sprint("tenant ", id), fmt.Sprint(id)))
				return err
			}
			for id := range 4 {
				eventually(t, "it costs a worker", func() bool {
					ctx, cancel := engines.WithTimeout(t.Context(), 300*time.Millisecond)
					defer cancel()
					return engines.KindOf(hang(ctx, id)) == engines.Timeout
				})
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 4)
			for id := range cap(ended) {
				go func() { ended <- hang(ctx, id) }()
			}
			for range cap(ended) - 1 {
				var e *engines.Error
				if err := <-ended; !errors.As(err, &e) || e.RetryAfter < time.Second || errors.Is(err, engines.ErrBackoff) {
					t.Errorf("error %v, want one that asks to come back", err)
				}
			}
			for n := range 20 {
				within, done := context.WithTimeout(t.Context(), 20*time.Second)
				if _, err := program.Run(within, about(false, "good", fmt.Sprint("good ", n))); err != nil {
					t.Errorf("an object without fault: %v", err)
				}
				done()
			}
			cancel()
			wantError(t, <-ended, engines.Failed, "canceled")
		})
	}
}

// TestCallsAboutOneObject makes two calls about one object at once, as a rolling update does. Neither
// must be sent away for the other.
func TestCallsAboutOneObject(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 4, Grace: 10 * time.Millisecond})
	program := probed(t, pool, "hang if true")
	eventually(t, "it costs a worker", func() bool {
		ctx, cancel := engines.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		_, err := program.Run(ctx, about(true, "a", "1"))
		return engines.KindOf(err) == engines.Timeout
	})
	ended := make(chan error, 8)
	for range cap(ended) {
		go func() {
			_, err := program.Run(t.Context(), about(false, "a", "1"))
			ended <- err
		}()
	}
	for range cap(ended) {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// TestFatalLoad has a program kill its workers while they load it.
func TestFatalLoad(t *testing.T) {
	clock := newClock()
	pool := newPool(t, sandbox.Config{Now: clock.get})
	engine := engineOf(t, pool, "Probe")
	load := func() error {
		_, err := engine.Compile(t.Context(), engines.Source{
			Hook: "sync", Script: &engines.Script{Files: map[string]string{"a.probe": "crash at load"}, Path: "a.probe"},
		})
		return err
	}
	for range 3 {
		wantError(t, load(), engines.Failed, "script worker crashed: exit status 7")
	}
	wantError(t, load(), engines.Failed, "not loaded until 00:01:00 UTC")
	clock.advance(time.Minute)
	wantError(t, load(), engines.Failed, "script worker crashed: exit status 7")
	wantError(t, load(), engines.Failed, "not loaded until 00:03:00 UTC")
}

// TestLoadsTakeTurns has all hooks of a definition hang while they are loaded. Another definition must
// still be served.
func TestLoadsTakeTurns(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 2})
	echo, engine := compiled(t, pool, alive), engineOf(t, pool, "Probe")
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for n := range 5 {
		group.Go(func() {
			_, _ = engine.Compile(ctx, engines.Source{ // Ends with ctx.
				Owner: "greedy", Hook: fmt.Sprint("hook", n),
				Script: &engines.Script{Files: map[string]string{"a.probe": "hang at load"}, Path: "a.probe"},
			})
		})
	}
	for n := range 5 {
		call := request(int64(n))
		call.Owner = "modest"
		within, done := context.WithTimeout(t.Context(), 20*time.Second)
		if response, err := echo.Run(within, call); err != nil || response.Body != int64(n) {
			t.Errorf("call %d: %v, error %v", n, response.Body, err)
		}
		done()
	}
	cancel()
	group.Wait()
}
