package definitionmetrics_test

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

// TestValues checks that a definition and its control loop have the same values of the labels.
func TestValues(t *testing.T) {
	for _, c := range []struct{ got, want []string }{
		{definitionmetrics.Values("MapController a-b", "x"), []string{"MapController", "a-b", "x"}},
		{definitionmetrics.LoopValues("MapController-a-b", "x"), []string{"MapController", "a-b", "x"}},
		{definitionmetrics.LoopValues("definition", "x"), []string{"", "", "x"}}, // The control loop of the definitions.
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestSelector checks that a selector matches the series of one definition only.
func TestSelector(t *testing.T) {
	passes := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "passes", Help: "Counts."}, definitionmetrics.Labels("zone"))
	for _, loop := range []string{"MapController-a-b", "MapController-a", "definition"} {
		passes.WithLabelValues(definitionmetrics.LoopValues(loop, "x")...)
	}
	passes.DeletePartialMatch(definitionmetrics.Selector("MapController a-b"))
	if n := testutil.CollectAndCount(passes); n != 2 {
		t.Errorf("%d series are left, want 2", n)
	}
	passes.DeletePartialMatch(definitionmetrics.LoopSelector("MapController-a"))
	if n := testutil.CollectAndCount(passes); n != 1 {
		t.Errorf("%d series are left, want that of the other loop", n)
	}
}
