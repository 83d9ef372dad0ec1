package bench

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// rig is a settled parent with children.
type rig struct {
	*testEnv
	key   controller.Key
	calls int
}

func newRig(tb testing.TB, children int, queue parent.Queue) *rig {
	tb.Helper()
	web, observed, answer := family(tb, children)
	server := newAPIServer()
	server.add(webs.GroupVersionResource, web)
	server.add(pods.GroupVersionResource, observed...)
	r := &rig{key: keyOf(web)}
	r.testEnv = start(tb, composite, server, map[string]engines.Program{"sync": hook(func(map[string]any) map[string]any {
		r.calls++
		return answer
	})}, queue)
	r.reconcile(tb, r.key)
	return r
}

// idle makes a pass over what the last one has seen.
func (r *rig) idle(tb testing.TB) { r.reconcile(tb, r.key) }

// full makes a pass that has to ask the hook and to compare all children. As new
// scripts do: any part of what was seen that is new has the same effect.
func (r *rig) full(tb testing.TB) {
	r.revision += "."
	if len(r.revision) > 20 {
		r.revision = ""
	}
	r.reconcile(tb, r.key)
}

// TestSync checks what BenchmarkSync measures. That nothing is written needs no
// check: the API server takes no requests.
func TestSync(t *testing.T) {
	r := newRig(t, 10, nil)
	r.idle(t)
	if r.calls != 1 {
		t.Errorf("the hook was called %d times, want once: the second pass had nothing new to see", r.calls)
	}
	r.full(t)
	if r.calls != 2 {
		t.Errorf("the hook was called %d times, want twice: the last pass had something new to see", r.calls)
	}
}

// BenchmarkSync makes passes that change nothing.
func BenchmarkSync(b *testing.B) {
	for _, children := range []int{10, 100, 1000} {
		r := newRig(b, children, nil)
		b.Run(fmt.Sprintf("Idle/children=%d", children), func(b *testing.B) { perChild(b, children, func() { r.idle(b) }) })
		b.Run(fmt.Sprintf("Full/children=%d", children), func(b *testing.B) { perChild(b, children, func() { r.full(b) }) })
	}
}

// perChild reports the cost of f for each of n children.
func perChild(b *testing.B, n int, f func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for b.Loop() {
		f()
	}
	runtime.ReadMemStats(&after)
	each := float64(b.N) * float64(n)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/each, "ns/child")
	b.ReportMetric(float64(after.Mallocs-before.Mallocs)/each, "allocs/child")
	b.ReportMetric(float64(after.TotalAlloc-before.TotalAlloc)/each, "B/child")
}
