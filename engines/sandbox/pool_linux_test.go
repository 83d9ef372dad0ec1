package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/race"
)

// TestConcurrentCalls runs failing and working programs at once, and checks every answer.
func TestConcurrentCalls(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 3, Grace: 50 * time.Millisecond})
	var good []engines.Program
	for n := range 5 {
		good = append(good, compiled(t, pool, fmt.Sprintf(`export const sync = ({value}) => ({program: %d, value})`, n)))
	}
	bad := []engines.Program{
		compiled(t, pool, `export function sync() { for (;;); }`),
		compiled(t, pool, `export function sync() { return 'x'.repeat(2**40) }`),
		compiled(t, pool, `export function sync() { Array.prototype.indexOf.call({length: 2**53-1}, 1) }`),
	}
	var group sync.WaitGroup
	for client := range 8 {
		group.Go(func() {
			for n := range 20 {
				value := fmt.Sprintf("%d/%d", client, n)
				call := request(value)
				call.Owner = fmt.Sprint("owner ", client)
				response, err := good[n%len(good)].Run(t.Context(), call)
				got, _ := response.Body.(map[string]any)
				if err != nil || got["program"] != int64(n%len(good)) || got["value"] != value {
					t.Errorf("call %s: %v, error %v", value, response.Body, err)
				}
			}
		})
	}
	for n, program := range bad {
		group.Go(func() {
			for range 4 {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				if _, err := program.Run(ctx, request(nil)); err == nil {
					t.Errorf("bad program %d answered", n)
				}
				cancel()
			}
		})
	}
	group.Wait()
}

// TestFair has one owner hang in all workers that it can get. Another owner must still be served.
func TestFair(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 2})
	hanging, echo := probed(t, pool, "hang"), compiled(t, pool, alive)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 10 {
		group.Go(func() {
			call := request(nil)
			call.Owner = "greedy"
			_, _ = hanging.Run(ctx, call) // Ends with ctx.
		})
	}
	for n := range 20 {
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

// TestNoFreeWorker has a call wait for a worker for as long as that may take, with a timeout that is shorter: that is for the time in which
// it runs.
func TestNoFreeWorker(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1, MaxWait: 100 * time.Millisecond})
	hanging, echo := probed(t, pool, "hang"), compiled(t, pool, alive)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for owner := range 2 {
		group.Go(func() {
			call := request(nil)
			call.Owner = fmt.Sprint(owner)
			_, _ = hanging.Run(ctx, call) // Ends with ctx.
		})
	}
	eventually(t, "both workers are busy", func() bool {
		within, done := engines.WithTimeout(t.Context(), 10*time.Millisecond)
		defer done()
		began := time.Now()
		_, err := echo.Run(within, request(nil))
		var e *engines.Error
		if !errors.As(err, &e) || e.Kind != engines.Busy {
			return false
		}
		if !errors.Is(err, engines.ErrNoWorker) || e.RetryAfter <= 0 || time.Since(began) < 100*time.Millisecond {
			t.Errorf("after %v: %#v, want one that waited, and asks to come back", time.Since(began), e)
		}
		return true
	})
	cancel()
	group.Wait()
}

// TestReload calls more programs than a worker keeps, some after their worker exited.
func TestReload(t *testing.T) {
	pool := newPool(t, sandbox.Config{Workers: 1})
	var programs []engines.Program
	for n := range 80 {
		programs = append(programs, compiled(t, pool, fmt.Sprintf(`export const sync = () => %d`, n)))
	}
	killer := probed(t, pool, "panic elsewhere")
	for round := range 2 {
		for n, program := range programs {
			if response, err := program.Run(t.Context(), request(nil)); err != nil || response.Body != int64(n) {
				t.Fatalf("round %d, program %d: %v, error %v", round, n, response.Body, err)
			}
		}
		_, err := killer.Run(t.Context(), request(nil))
		wantError(t, err, engines.Failed, "script worker crashed")
	}
}

func exitsLogged(t *testing.T, registry *prometheus.Registry, line string) bool {
	t.Helper()
	const name = "libretto_script_worker_ends_total"
	var lines []string
	for reason, count := range figures(t, registry, name, "reason") {
		lines = append(lines, fmt.Sprintf("%s{reason=%q} %v", name, reason, count))
	}
	return strings.Join(lines, "\n") == line
}

// TestMemoryLimits calls a program with a small limit after one with a large limit in the same worker.
// It must not get the large one.
func TestMemoryLimits(t *testing.T) {
	race.Skip(t)
	pool := newPool(t, sandbox.Config{Workers: 1})
	program := func(mebibytes int64) engines.Program {
		source := script(`export function sync({value}) { const all = []; for (let i = 0; i < value; i++) all.push({i, text: 'text ' + i}); return all.length }`)
		source.Script.MemoryBytes = mebibytes << 20
		p, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	large, small := program(1024), program(64)
	const objects = 700_000 // More than 64 MiB, less than 1 GiB.
	for range 2 {
		if response, err := large.Run(t.Context(), request(int64(objects))); err != nil || response.Body != int64(objects) {
			t.Errorf("with much memory: %v, error %v", response.Body, err)
		}
		_, err := small.Run(t.Context(), request(int64(objects)))
		wantError(t, err, engines.Exhausted, "memory limit of 64Mi")
		if response, err := small.Run(t.Context(), request(int64(10))); err != nil || response.Body != int64(10) {
			t.Errorf("with little, that it needs: %v, error %v", response.Body, err)
		}
	}
}

func TestTooLarge(t *testing.T) {
	pool := newPool(t, sandbox.Config{})
	echo := compiled(t, pool, alive)
	_, err := echo.Run(t.Context(), request(strings.Repeat("x", 17<<20)))
	wantError(t, err, engines.Exhausted, "the request is larger than 16 MiB")
	_, err = echo.Run(t.Context(), request(strings.Repeat("x", 9<<20)))
	wantError(t, err, engines.Exhausted, "the response is larger than 8 MiB")
	var nested any
	for range 600 {
		nested = []any{nested}
	}
	_, err = echo.Run(t.Context(), request(nested))
	wantError(t, err, engines.Failed, "the request: is nested more than 500 deep")
	_, err = echo.Run(t.Context(), request(1))
	wantError(t, err, engines.Failed, "the request: a value is of type int")
}

// TestStartFailure has a worker command that does not exist.
func TestStartFailure(t *testing.T) {
	for name, command := range map[string][]string{"absent": {"/nowhere"}, "ends": {"/proc/self/exe", "-test.run=^$"}} {
		t.Run(name, func(t *testing.T) {
			pool := newPool(t, sandbox.Config{Command: command})
			_, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), script(alive))
			wantError(t, err, engines.Failed, "script workers do not start: ")
		})
	}
}

func TestLogs(t *testing.T) {
	pool := newPool(t, sandbox.Config{})
	program := compiled(t, pool, `export function sync({value}) { console.log('one\ntwo'); if (!value) throw new Error('boom'); return null }`)
	for _, value := range []any{true, nil} {
		response, err := program.Run(t.Context(), request(value))
		if strings.Join(response.Logs, "|") != "one|two" || response.Body != nil || (err == nil) != (value == true) {
			t.Errorf("value %v: logs %q, body %v, error %v", value, response.Logs, response.Body, err)
		}
	}
}

// TestDescriptors checks which descriptors of the host a worker has.
func TestDescriptors(t *testing.T) {
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1})
	compiled(t, pool, alive)
	for _, pid := range workers() {
		strange := []string{}
		eventually(t, fmt.Sprintf("worker %d has only what is its", pid), func() bool {
			if strange = strangers(pid); len(strange) > 0 {
				t.Logf("worker %d has %v open", pid, strange)
			}
			return len(strange) == 0 // The worker closes inherited ones when it starts.
		})
	}
}

func strangers(pid int) []string {
	open, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // Not readable for every user.
	var strange []string
	for _, d := range open {
		to, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%s", pid, d.Name()))
		// The Go runtime has an event descriptor and a file for its CPU limit.
		if !strings.HasPrefix(to, "pipe:") && !strings.HasPrefix(to, "anon_inode:[event") && !strings.HasPrefix(to, "/sys/fs/cgroup/") {
			strange = append(strange, d.Name()+" -> "+to)
		}
	}
	return strange
}
