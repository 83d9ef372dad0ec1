package definitionmetrics_test

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/libretto-k8s/libretto/definitionmetrics"
)

// TestFormerNames checks that a metric has its former name and labels too, with the same values, and that both go together.
func TestFormerNames(t *testing.T) {
	registry := prometheus.NewRegistry()
	counter := func(name string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: definitionmetrics.Prefix + name, Help: "Counts."}, definitionmetrics.Labels("zone"))
	}
	calls, passes := counter("calls_total"), counter("passes_total")
	definitionmetrics.Register(registry, calls, "calls_total", "zone")
	definitionmetrics.RegisterLoops(registry, passes, "passes_total", "zone")
	calls.WithLabelValues(definitionmetrics.Values("MapController a-b", "x")...).Add(2)
	passes.WithLabelValues(definitionmetrics.LoopValues("MapController-a-b", "x")...).Add(3)
	passes.WithLabelValues(definitionmetrics.LoopValues("definition", "x")...).Add(4)
	want := `
		# HELP libretto_calls_total Deprecated, and gone in the next release: use libretto_definition_calls_total, with the labels kind and definition.
		# TYPE libretto_calls_total counter
		libretto_calls_total{definition="MapController a-b",zone="x"} 2
		# HELP libretto_definition_calls_total Counts.
		# TYPE libretto_definition_calls_total counter
		libretto_definition_calls_total{definition="a-b",kind="MapController",zone="x"} 2
		# HELP libretto_definition_passes_total Counts.
		# TYPE libretto_definition_passes_total counter
		libretto_definition_passes_total{definition="",kind="",zone="x"} 4
		libretto_definition_passes_total{definition="a-b",kind="MapController",zone="x"} 3
		# HELP libretto_passes_total Deprecated, and gone in the next release: use libretto_definition_passes_total, with the labels kind and definition.
		# TYPE libretto_passes_total counter
		libretto_passes_total{controller="MapController-a-b",zone="x"} 3
		libretto_passes_total{controller="definition",zone="x"} 4
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want)); err != nil {
		t.Error(err)
	}
	calls.DeletePartialMatch(definitionmetrics.Selector("MapController a-b"))
	passes.DeletePartialMatch(definitionmetrics.LoopSelector("MapController-a-b"))
	if n, err := testutil.GatherAndCount(registry); err != nil || n != 2 {
		t.Errorf("%d series are left, want the two of the other loop (%v)", n, err)
	}
}
