package sandbox_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/test/race"
)

// lines is a log. It is safe for concurrent use.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) add(_, line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

// with returns the lines that contain text.
func (l *lines) with(text string) (found []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.all {
		if strings.Contains(line, text) {
			found = append(found, line)
		}
	}
	return found
}

// TestConfinementOfOlderKernel caps the version of Landlock that workers use. The metric and the log say
// that a part of it is missing.
func TestConfinementOfOlderKernel(t *testing.T) {
	states := func(abi int) (map[string]float64, *lines) {
		registry, log := prometheus.NewRegistry(), &lines{}
		pool := newPool(t, sandbox.Config{
			Workers: 1, Metrics: sandbox.NewMetrics(registry), Log: funcr.New(log.add, funcr.Options{}),
			Command: append([]string{os.Args[0], worker.Argument}, worker.Arguments(confine.Options{MaxBudget: 1, LandlockABI: abi})...),
		})
		compiled(t, pool, alive)
		return figures(t, registry, "libretto_script_worker_confinement", "state"), log
	}
	full, _ := states(0)
	if full["full"] != float64(len(confine.Measures())) {
		t.Skipf("not all measures are in force here: %v", full)
	}
	want := maps.Clone(full)
	want["full"]--
	want["partial"] = 0.5
	older, log := states(5)
	if diff := cmp.Diff(want, older); diff != "" {
		t.Errorf("states (-want +got):\n%s", diff)
	}
	said := log.with("but not by all measures")
	const partial = `"partial"={"landlock"="its version here is 5`
	if len(said) != 1 || !strings.Contains(said[0], `"measures"=7`) || !strings.Contains(said[0], partial) {
		t.Errorf("the log says %q, want that landlock is in force partially", said)
	}
}

// bare returns the configuration of workers on a kernel that has neither Landlock nor seccomp.
func bare() sandbox.Config {
	options := confine.Options{MaxBudget: 1, WithoutSeccomp: true, LandlockABI: -1}
	return sandbox.Config{Workers: 1, Command: append([]string{os.Args[0], worker.Argument}, worker.Arguments(options)...)}
}

// TestUnconfined checks that a worker that is confined less than required gets no script, and that a probe tells it.
func TestUnconfined(t *testing.T) {
	config, log := bare(), &lines{}
	config.Require, config.Log = confine.RequireAny, funcr.New(log.add, funcr.Options{})
	var unconfined *sandbox.UnconfinedError
	if err := sandbox.Probe(config); !errors.As(err, &unconfined) || len(unconfined.Unmet) != 2 {
		t.Errorf("probe: error %v, want one with Landlock and seccomp", err)
	}
	_, err := engineOf(t, newPool(t, config), "JavaScript").Compile(t.Context(), script(alive))
	if err == nil || !strings.Contains(err.Error(), "not confined enough") {
		t.Errorf("a load: error %v, want that workers are not confined enough", err)
	}
	if said := log.with("script worker did not start"); len(said) == 0 {
		t.Error("the log does not say why workers are not started")
	}

	config.Require = confine.RequireNone
	if err := sandbox.Probe(config); err != nil {
		t.Errorf("probe that requires nothing: %v", err)
	}
	compiled(t, newPool(t, config), alive)
}

// TestNoDescriptors has code in a worker try what needs a descriptor, where the kernel has neither Landlock nor seccomp.
func TestNoDescriptors(t *testing.T) {
	pool := newPool(t, bare())
	for name, target := range map[string]any{
		"read file": "", "read memory": int64(os.Getpid()), "write file": "", "run program": "",
		"connect": "127.0.0.1:1", "send": "127.0.0.1:1",
	} {
		_, err := probed(t, pool, name).Run(t.Context(), request(target))
		if err == nil || !strings.Contains(err.Error(), "too many open files") {
			t.Errorf("%s: error %v, want that no descriptor is left", name, err)
		}
	}
}

// TestHardMemoryLimit checks that workers can never get more memory than what the largest limit of a
// script needs, and that a script with a larger limit gets workers that can.
func TestHardMemoryLimit(t *testing.T) {
	const (
		mib    = 1 << 20
		cached = 256 * mib // What a worker may keep for later calls.
	)
	atMost := int64(200 * mib) // What the process has at its start.
	if race.Enabled {
		atMost = 1024 * mib
	}
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1})
	for _, limit := range []int64{64 * mib, 256 * mib, 1024 * mib, 64 * mib} {
		source := script(fmt.Sprintf("export const sync = ({value}) => value // %d", limit))
		source.Script.MemoryBytes = limit
		program, err := engineOf(t, pool, "JavaScript").Compile(t.Context(), source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Run(t.Context(), request("a")); err != nil {
			t.Fatal(err)
		}
	}
	large := workers()
	compiled(t, newPool(t, sandbox.Config{Workers: 1}), alive)
	small := slices.DeleteFunc(workers(), func(pid int) bool { return slices.Contains(large, pid) })
	for most, pids := range map[int64][]int{1024 * mib: large, 256 * mib: small} {
		highest := int64(0) // Some may have been started before there was a script with the limit.
		for _, pid := range pids {
			eventually(t, "the worker has confined itself, or has been replaced", func() bool {
				highest = max(highest, hardDataLimit(t, pid))
				return highest > 0 || hasExited(pid)
			})
		}
		if highest < most+cached || highest > most+cached+atMost {
			t.Errorf("workers for scripts of %d MiB at most can have %d MiB, want up to %d", most/mib, highest/mib, (most+cached+atMost)/mib)
		}
	}
}

// hardDataLimit returns the hard limit on the data of a process, or zero if it has none or has ended.
func hardDataLimit(t *testing.T, pid int) int64 {
	t.Helper()
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid)) // It may have ended.
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.HasPrefix(line, "Max data size") {
			limit, _ := strconv.ParseInt(fields[4], 10, 64)
			return limit
		}
	}
	return 0
}
