package sandbox_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/test/race"
)

// TestReplacedByAge exceeds the number of questions of a worker. The caller must not notice.
func TestReplacedByAge(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool := newPool(t, sandbox.Config{Workers: 1, Metrics: sandbox.NewMetrics(registry)})
	echo := compiled(t, pool, alive)
	for n := range 1010 {
		if response, err := echo.Run(t.Context(), request(int64(n))); err != nil || response.Body != int64(n) {
			t.Fatalf("call %d: %v, error %v", n, response.Body, err)
		}
	}
	eventually(t, "one worker is replaced for its age", func() bool {
		return exitsLogged(t, registry, `libretto_script_worker_ends_total{reason="age"} 1`)
	})
}

// TestReplacedWhenGrown has an engine that leaks.
func TestReplacedWhenGrown(t *testing.T) {
	race.Skip(t)
	registry := prometheus.NewRegistry()
	pool := newPool(t, sandbox.Config{Workers: 1, Metrics: sandbox.NewMetrics(registry)})
	program, err := engineOf(t, pool, "Probe").Compile(t.Context(), engines.Source{
		Hook: "sync", Script: &engines.Script{Files: map[string]string{"a.probe": "leak"}, Path: "a.probe", MemoryBytes: 128 << 20},
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := range 12 { // 20 MiB each. The fifth is too much.
		if _, err := program.Run(t.Context(), request(nil)); err != nil {
			t.Fatalf("call %d: %v", n, err)
		}
	}
	eventually(t, "two workers are replaced for what they keep", func() bool {
		return exitsLogged(t, registry, `libretto_script_worker_ends_total{reason="resident"} 2`)
	})
}

// TestManyPrograms has a call use most of its limit in a worker that keeps many other programs. Their
// memory must neither count for the call nor retire the worker.
func TestManyPrograms(t *testing.T) {
	race.Skip(t)
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1, Grace: time.Minute}) // A busy machine takes time to end what hangs.
	small := script(`export function sync({value}) { const all = []; for (let i = 0; i < value; i++) all.push({i, text: 'text ' + i}); return all.length }`)
	small.Script.MemoryBytes = 64 << 20
	program, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	hang, cancel := context.WithCancel(t.Context())
	hanging := probed(t, pool, "wait")
	var group sync.WaitGroup
	group.Go(func() { _, _ = hanging.Run(hang, request(nil)) }) // Ends with hang.
	eventually(t, "the spare is there, and gets all that follows", func() bool { return len(workers()) == 2 })
	before := slices.Sorted(slices.Values(workers()))
	for n := range 7 { // Of about 9 MiB each.
		other := script(library(n))
		other.Script.MemoryBytes = small.Script.MemoryBytes
		if _, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), other); err != nil {
			t.Fatal(err)
		}
	}
	const objects = 80_000 // More than half of the limit, less than all of it.
	for range 3 {
		if response, err := program.Run(t.Context(), request(int64(objects))); err != nil || response.Body != int64(objects) {
			t.Errorf("beside programs of others: %v, error %v", response.Body, err)
		}
	}
	cancel()
	group.Wait()
	if diff := cmp.Diff(before, slices.Sorted(slices.Values(workers()))); diff != "" {
		t.Errorf("workers were replaced (-before +after):\n%s", diff)
	}
}

// library returns a script of 300 KB.
func library(n int) string {
	var text strings.Builder
	for i := range 2500 {
		fmt.Fprintf(&text, "function f%d(a, b) { const x = {kind: 'Deployment', name: a.name + '-' + b, n: %d}; return x.n > 3 ? x : [x, a] }\n", i, n)
	}
	return text.String() + alive
}

// TestIdleWorkersEnd has two workers called at the same time. One stays, and the spare one.
func TestIdleWorkersEnd(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 2, IdleTimeout: 50 * time.Millisecond, Metrics: sandbox.NewMetrics(registry)})
	hang, cancel := context.WithCancel(t.Context())
	hanging := probed(t, pool, "wait")
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { _, _ = hanging.Run(hang, request(nil)) }) // Ends with hang.
	}
	eventually(t, "both are called", func() bool { return len(workers()) == 3 })
	cancel()
	group.Wait()
	eventually(t, "two are left", func() bool {
		return len(workers()) == 2 && exitsLogged(t, registry, `libretto_script_worker_ends_total{reason="idle"} 1`)
	})
	echo := compiled(t, pool, alive)
	if response, err := echo.Run(t.Context(), request(int64(1))); err != nil || response.Body != int64(1) {
		t.Errorf("a call after that: %v, error %v", response.Body, err)
	}
}
