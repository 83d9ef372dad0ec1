package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/quota"
)

// stopWorkers stops the processes, as a machine does that has no time for them, and returns a function that has them go on.
func stopWorkers(t *testing.T, pids []int) (resume func()) {
	t.Helper()
	signal := func(s syscall.Signal) {
		for _, pid := range pids {
			if err := syscall.Kill(pid, s); err != nil {
				t.Error(err)
			}
		}
	}
	signal(syscall.SIGSTOP)
	return func() { signal(syscall.SIGCONT) }
}

// TestStoppedWorker has a worker stopped in a call for several times as long as the call may take. It must answer when it goes on: the worker
// is not killed, and nothing is charged. Nor is it the time that several calls have together.
func TestStoppedWorker(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1, Grace: 50 * time.Millisecond, Metrics: sandbox.NewMetrics(registry)})
	program := compiled(t, pool, `export function sync({value}) { let n = 0; for (let i = 0; i < value; i++) n += i % 7; return n > 0 }`)
	if _, err := program.Run(t.Context(), request(int64(10))); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the spare is there", func() bool { return len(workers()) == 2 })
	const limit = 2 * time.Second
	ended := make(chan error, 1)
	all, end := engines.WithBudget(t.Context(), limit, errors.New("all of its time is used up"))
	defer end()
	ctx, cancel := engines.WithTimeout(all, limit)
	defer cancel()
	began := time.Now()
	go func() {
		_, err := program.Run(ctx, request(int64(1_000_000)))
		ended <- err
	}()
	resume := stopWorkers(t, workers())
	select {
	case <-ctx.Done(): // Twice as long as the wall would allow.
	case err := <-ended:
		t.Skipf("it was over after %v, before its worker was stopped: error %v", time.Since(began), err)
	}
	again, done := context.WithTimeout(t.Context(), limit)
	<-again.Done()
	done()
	resume()
	if err := <-ended; err != nil || all.Err() != nil {
		t.Errorf("after %v: %v and %v, want an answer", time.Since(began), err, context.Cause(all))
	}
	if got := figures(t, registry, "libretto_script_worker_ends_total", "reason"); got["deadline"] > 0 {
		t.Errorf("workers ended: %v, want none at a deadline", got)
	}
	if open := program.CircuitOpen(); open != nil {
		t.Error(open)
	}
}

// TestSleepingWorker has a worker sleep in a call. It computes nothing, but the time is its own: it must not hold a worker for longer than one
// that computes.
func TestSleepingWorker(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1, Grace: 50 * time.Millisecond})
	hanging := probed(t, pool, "hang")
	ctx, cancel := engines.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := hanging.Run(ctx, request(nil))
	wantError(t, err, engines.Timeout, "its worker was killed after its deadline")
}

// TestBudgetOfCalls has calls that compute without end, each of which might take longer than all may together.
func TestBudgetOfCalls(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	loop := compiled(t, pool, `export function sync() { for (;;); }`)
	errUsedUp := errors.New("all of its time is used up")
	ctx, cancel := engines.WithBudget(t.Context(), 300*time.Millisecond, errUsedUp)
	defer cancel()
	for n := 0; ctx.Err() == nil && n < 4; n++ {
		call, done := engines.WithTimeout(ctx, 5*time.Second)
		_, _ = loop.Run(call, request(nil))
		done()
	}
	if cause := context.Cause(ctx); !errors.Is(cause, errUsedUp) {
		t.Errorf("after calls of 20 s: %v", cause)
	}
}

// TestScarceProcessor runs workers with a twentieth of a processor: loads and calls that take a fraction of their time
// there must succeed, though they take longer by the wall, and a loop must still be ended.
func TestScarceProcessor(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 2, Metrics: sandbox.NewMetrics(registry)})
	loop := compiled(t, pool, `export function sync({value}) { const end = value; let n = 0; for (let i = 0; i < end; i++) n += i % 7; return 'done' }`)
	hanging := probed(t, pool, "wait")
	var group sync.WaitGroup
	hang, release := context.WithCancel(t.Context())
	for range 2 { // So that all workers are there: two have calls, and one is the spare.
		group.Go(func() { _, _ = hanging.Run(hang, request(nil)) }) // Ends with hang.
	}
	eventually(t, "all workers are there", func() bool { return len(workers()) == 3 })
	release()
	group.Wait()
	throttle(t, workers(), 0.05)
	limit := 300 * time.Millisecond
	for n := range 4 {
		group.Go(func() {
			ctx, cancel := engines.WithTimeout(t.Context(), limit)
			defer cancel()
			call := request(int64(50_000))
			call.Owner = fmt.Sprint(n)
			began := time.Now()
			if response, err := loop.Run(ctx, call); err != nil || response.Body != "done" {
				t.Errorf("a call: %v, error %v", response.Body, err)
			}
			t.Logf("a call of %v took %v", limit, time.Since(began))
		})
	}
	group.Wait()
	if got := figures(t, registry, "libretto_script_worker_ends_total", "reason"); got["deadline"] > 0 {
		t.Errorf("workers ended: %v, want none at a deadline", got)
	}
	ctx, cancel := engines.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := loop.Run(ctx, request(int64(1)<<50))
	if wantError(t, err, engines.Timeout, "did not answer"); errors.Is(err, engines.ErrNoWorker) {
		t.Errorf("a loop had all of its time: %v", err)
	}
}

// throttle has the processes share that part of a processor until the test ends.
func throttle(t *testing.T, pids []int, cpus float64) {
	t.Helper()
	q := quota.NewAnywhere(cpus)
	t.Cleanup(func() {
		if err := q.Remove(); err != nil {
			t.Error(err)
		}
	})
	for _, pid := range pids {
		if err := q.Add(pid); err != nil {
			t.Fatal(err)
		}
	}
}
