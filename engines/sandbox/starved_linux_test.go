package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
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
// is not killed, and nothing is charged.
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
	ctx, cancel := engines.WithTimeout(t.Context(), limit)
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
	if err := <-ended; err != nil {
		t.Errorf("after %v: %v, want an answer", time.Since(began), err)
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
	began := time.Now()
	_, err := hanging.Run(ctx, request(nil))
	wantError(t, err, engines.Timeout, "its worker was killed after its deadline")
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it held its worker for %v", took)
	}
}

// TestScarceProcessor runs workers in a control group with a twentieth of a processor: loads and calls that take a fraction of their time
// there must succeed, though they take longer by the wall, and a loop must still be ended.
func TestScarceProcessor(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 2, Metrics: sandbox.NewMetrics(registry)})
	loop := compiled(t, pool, `export function sync({value}) { const end = value; let n = 0; for (let i = 0; i < end; i++) n += i % 7; return 'done' }`)
	var group sync.WaitGroup
	hang, release := context.WithCancel(t.Context())
	for range 3 { // So that all workers are there.
		hanging := probed(t, pool, "wait")
		group.Go(func() { _, _ = hanging.Run(hang, request(nil)) }) // Ends with hang.
	}
	eventually(t, "all workers are there", func() bool { return len(workers()) == 3 })
	release()
	group.Wait()
	throttle(t, workers(), 5_000)
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

// throttle has the processes share so many microseconds of a processor in each tenth of a second until the test ends. It skips the test where
// control groups can't be had.
func throttle(t *testing.T, pids []int, quota int) {
	t.Helper()
	group := filepath.Join("/sys/fs/cgroup/cpu", fmt.Sprintf("libretto-test-%d-%d", os.Getpid(), time.Now().UnixNano()))
	set := func(folder, file, text string) {
		if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil && !t.Skipped() {
			t.Skipf("there are no control groups for processors that this test may use: %v", err)
		}
	}
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Skipf("there are no control groups for processors that this test may use: %v", err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(filepath.Join(group, "cgroup.procs"))
		for _, pid := range strings.Fields(string(text)) { // They go back, so that they end soon.
			_ = os.WriteFile("/sys/fs/cgroup/cpu/cgroup.procs", []byte(pid), 0o600)
		}
		eventually(t, "the group is removed", func() bool { return os.Remove(group) == nil })
	})
	set(group, "cpu.cfs_period_us", "100000")
	set(group, "cpu.cfs_quota_us", strconv.Itoa(quota))
	for _, pid := range pids {
		set(group, "cgroup.procs", strconv.Itoa(pid))
	}
}
