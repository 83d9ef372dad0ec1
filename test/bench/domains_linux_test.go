package bench

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/enginetest"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// tenancy is a pool with definitions whose scripts come from a namespace each.
type tenancy struct {
	definitions []engines.Program
	workers     func() []string // The process IDs of the workers.
}

func newTenancy(tb testing.TB, definitions int, config sandbox.Config) *tenancy {
	tb.Helper()
	before := childProcesses(tb)
	pool := sandbox.New(config)
	tb.Cleanup(pool.Close)
	registry, err := engines.NewRegistry(engines.Config{}, pool.Definitions(standard.Scripts())...)
	if err != nil {
		tb.Fatal(err)
	}
	engine, err := registry.ByName("JavaScript")
	if err != nil {
		tb.Fatal(err)
	}
	t := &tenancy{workers: func() []string {
		return slices.DeleteFunc(childProcesses(tb), func(pid string) bool { return slices.Contains(before, pid) })
	}}
	source := enginetest.Files("../../engines/javascript/testdata")(tb, enginetest.StatefulSet)
	for n := range definitions {
		of := source
		of.Owner, of.TrustDomain = fmt.Sprint("definition ", n), fmt.Sprint("namespace-", n)
		program, err := engine.Compile(tb.Context(), of)
		if err != nil {
			tb.Fatal(err)
		}
		t.definitions = append(t.definitions, program)
	}
	return t
}

// load calls all definitions at once, each by so many callers, for a while. It returns the calls in a
// second, the longest call, and the memory that the workers have in the middle of it.
func (d *tenancy) load(tb testing.TB, callers int, spell time.Duration) (perSecond float64, longest time.Duration, memory int) {
	tb.Helper()
	request := requestOf(3)
	ctx, cancel := context.WithTimeout(tb.Context(), spell)
	defer cancel()
	var mu sync.Mutex
	var all []time.Duration
	var group sync.WaitGroup
	for n, program := range d.definitions {
		for caller := range callers {
			group.Go(func() {
				var took []time.Duration
				for ctx.Err() == nil {
					began := time.Now()
					_, err := program.Run(tb.Context(), engines.Call{
						Request: request, Now: began, Seed: fmt.Sprint(n, "/", caller), Owner: fmt.Sprint("definition ", n),
					})
					if err != nil {
						tb.Errorf("definition %d: %v", n, err)
						return
					}
					took = append(took, time.Since(began))
				}
				mu.Lock()
				defer mu.Unlock()
				all = append(all, took...)
			})
		}
	}
	select {
	case <-ctx.Done():
	case <-time.After(spell / 2):
	}
	for _, pid := range d.workers() {
		memory += proportional(pid)
	}
	group.Wait()
	return float64(len(all)) / spell.Seconds(), slices.Max(all), memory
}

// childProcesses returns the IDs of the processes that this one has started.
func childProcesses(tb testing.TB) []string {
	tb.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	if err != nil {
		tb.Fatal(err)
	}
	var all []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // The thread may have ended.
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}

// proportional returns the proportional set size of a process in bytes, or zero if it has ended.
func proportional(pid string) int {
	file, err := os.Open("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		return 0
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var kilobytes int
		if n, _ := fmt.Sscanf(lines.Text(), "Pss: %d kB", &kilobytes); n == 1 {
			return kilobytes << 10
		}
	}
	return 0
}

// BenchmarkEnginesDomains has 50 definitions in 50 namespaces, all of which call all the time: one call after
// another, and as many at once as a definition has workers by default.
func BenchmarkEnginesDomains(b *testing.B) {
	command := []string{buildWorker(b), worker.Argument, "bench"}
	for _, callers := range []int{1, 5} {
		for _, trust := range []string{"shared", "namespace"} {
			b.Run(fmt.Sprintf("%s/callers=%d", trust, callers), func(b *testing.B) {
				all := newTenancy(b, 50, sandbox.Config{Command: command, ShareWorkers: trust == "shared"})
				var rates, memories []float64
				longest := time.Duration(0)
				for b.Loop() {
					rate, took, memory := all.load(b, callers, 4*time.Second)
					rates, memories, longest = append(rates, rate), append(memories, float64(memory)), max(longest, took)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(median(rates), "calls/s")
				b.ReportMetric(longest.Seconds()*1000, "ms/longest")
				b.ReportMetric(median(memories)/(1<<20), "MiB/PSS")
				b.ReportMetric(float64(len(all.workers())), "workers")
			})
		}
	}
}

// TestDomains checks that definitions of more namespaces than there are workers are all served.
func TestDomains(t *testing.T) {
	for _, share := range []bool{true, false} {
		all := newTenancy(t, 5, sandbox.Config{Workers: 2, ShareWorkers: share})
		rate, longest, memory := all.load(t, 2, 200*time.Millisecond)
		t.Logf("shared %v: %.0f calls/s, the longest took %v, %d workers with %d MiB", share, rate, longest, len(all.workers()), memory>>20)
		if rate == 0 || memory == 0 || len(all.workers()) > 3 {
			t.Errorf("shared %v: %v calls/s by %v with %d bytes", share, rate, all.workers(), memory)
		}
	}
}
