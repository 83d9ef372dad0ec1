package metrics

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// TestForget checks that a removed definition has no series, and that it begins with those of what goes wrong.
func TestForget(t *testing.T) {
	m := New(prometheus.NewRegistry())
	m.Begin("CompositeController a")
	m.CountHotLoop("CompositeController a")
	m.CountEvent("CompositeController a", "Synced", "")
	if hot, events := testutil.ToFloat64(m.hotLoops), testutil.CollectAndCount(m.hostEvents); hot != 1 || events != 0 {
		t.Errorf("%v hot loops and %d series of events, want 1 and none", hot, events)
	}
	m.Forget("CompositeController a")
	if left := testutil.CollectAndCount(m.hotLoops) + testutil.CollectAndCount(m.failures); left != 0 {
		t.Errorf("%d series are left of a definition that is gone", left)
	}
	var none *Metrics
	none.CountHotLoop("CompositeController a")
}
