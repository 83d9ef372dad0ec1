package sandbox_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/confine"
)

// figures returns the values of a metric by one of its labels, and for a histogram the number of
// observations.
func figures(t testing.TB, registry *prometheus.Registry, name, label string) map[string]float64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			key := ""
			for _, pair := range m.GetLabel() {
				if pair.GetName() == label {
					key = pair.GetValue()
				}
			}
			if m.Counter != nil && m.GetCounter().GetValue() == 0 {
				continue
			}
			found[key] += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return found
}

// TestMetrics checks every metric after calls that end in several ways.
func TestMetrics(t *testing.T) {
	registry := prometheus.NewRegistry()
	pool := newPool(t, sandbox.Config{Workers: 1, Grace: 10 * time.Millisecond, Metrics: sandbox.NewMetrics(registry)})
	programs := map[string]engines.Program{
		"success":      compiled(t, pool, alive),
		"HookFailed":   compiled(t, pool, `export function sync() { throw new Error('boom') }`),
		"HookTimedOut": compiled(t, pool, `export function sync() { Array.prototype.indexOf.call({length: 2**53-1}, 1) }`),
	}
	for result, program := range programs {
		patience := time.Minute // One of these calls may wait for a worker to start.
		if result == "HookTimedOut" {
			patience = 500 * time.Millisecond
		}
		ctx, cancel := engines.WithTimeout(t.Context(), patience)
		_, _ = program.Run(ctx, request(nil)) // Only the metrics are checked.
		cancel()
	}
	calls := map[string]float64{"success": 4, "HookFailed": 1, "HookTimedOut": 1} // Three are compilations.
	if diff := cmp.Diff(calls, figures(t, registry, "libretto_script_duration_seconds", "result")); diff != "" {
		t.Errorf("calls, by result (-want +got):\n%s", diff)
	}
	if waits := figures(t, registry, "libretto_script_worker_wait_seconds", ""); waits[""] != 6 {
		t.Errorf("%v waits for a worker are counted, want 6", waits)
	}
	eventually(t, "the worker that was killed is counted, and another one is idle", func() bool {
		ends, workers := figures(t, registry, "libretto_script_worker_ends_total", "reason"), figures(t, registry, "libretto_script_workers", "state")
		resident := figures(t, registry, "libretto_script_workers_resident_bytes", "")
		return ends["deadline"] == 1 && len(ends) == 1 && workers["idle"] > 0 && workers["busy"] == 0 && resident[""] > 1<<20
	})
	measures := slices.Sorted(maps.Keys(figures(t, registry, "libretto_script_worker_confinement", "measure")))
	if diff := cmp.Diff(slices.Sorted(slices.Values(confine.Measures())), measures); diff != "" {
		t.Errorf("measures (-want +got):\n%s", diff)
	}
}
