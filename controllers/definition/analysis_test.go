package definition

import (
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/controllers/rollout"
)

// TestAnalysisRun: what does not hold once is looked at again soon, and counts if it does not hold then, either. A failure of another attempt
// confirms nothing.
func TestAnalysisRun(t *testing.T) {
	at := time.Unix(1000, 0)
	a := &analysisRun{}
	if got := a.result(); got.Result != rollout.AnalysisUnknown || got.ID != "" {
		t.Errorf("before the first: %+v", got)
	}
	for n, c := range []struct {
		id       string
		said     rollout.AnalysisResult
		want     rollout.AnalysisResult
		interval time.Duration
	}{
		{"one", rollout.AnalysisPassed, rollout.AnalysisPassed, analysisInterval},
		{"one", rollout.AnalysisFailed, rollout.AnalysisUnknown, confirmInterval},
		{"one", rollout.AnalysisPassed, rollout.AnalysisPassed, analysisInterval},
		{"one", rollout.AnalysisFailed, rollout.AnalysisUnknown, confirmInterval},
		{"one", rollout.AnalysisUnknown, rollout.AnalysisUnknown, analysisInterval},
		{"one", rollout.AnalysisFailed, rollout.AnalysisUnknown, confirmInterval},
		{"two", rollout.AnalysisFailed, rollout.AnalysisUnknown, confirmInterval},
		{"two", rollout.AnalysisFailed, rollout.AnalysisFailed, analysisInterval},
		{"two", rollout.AnalysisFailed, rollout.AnalysisFailed, analysisInterval},
		{"two", rollout.AnalysisPassed, rollout.AnalysisPassed, analysisInterval},
	} {
		a.answer = make(chan rollout.Analysis, 1)
		before := a.result()
		a.answer <- rollout.Analysis{ID: c.id, At: at, Result: c.said}
		for range 2 { // It stays so until the next one.
			if got := a.result(); got.ID != c.id || got.Result != c.want || a.dueIn(at) != c.interval {
				t.Errorf("%d: after %+v: got %+v, and again in %s; want %v and %s", n, before, got, a.dueIn(at), c.want, c.interval)
			}
		}
	}
}
