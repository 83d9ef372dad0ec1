package bench

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// counted counts passes.
type counted struct {
	controller.Reconciler
	passes atomic.Int64
}

func (c *counted) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	defer c.passes.Add(1)
	return c.Reconciler.Reconcile(ctx, key)
}

// later is a reconciler that is there only when the queue before it is.
type later struct{ controller.Reconciler }

// storm is a parent with children at work, in a real control loop.
type storm struct {
	server   *apiServer
	children []*unstructured.Unstructured
	loop     *counted
	seen     atomic.Int64 // newest version that the hook was shown
}

func newStorm(tb testing.TB, children int) *storm {
	tb.Helper()
	web, observed, answer := family(tb, children)
	s := &storm{server: newAPIServer(), children: observed}
	s.server.add(webs.GroupVersionResource, web)
	s.server.add(pods.GroupVersionResource, observed...)
	sync := hook(func(request map[string]any) map[string]any {
		for _, child := range request["children"].(map[string]any)["Pod.v1"].(map[string]any) {
			var version int64
			_, _ = fmt.Sscan((&unstructured.Unstructured{Object: child.(map[string]any)}).GetResourceVersion(), &version)
			s.seen.Store(max(s.seen.Load(), version))
		}
		return answer
	})
	reconciler := &later{}
	s.loop = &counted{Reconciler: reconciler}
	queue := controller.New(controller.Config{Name: "bench", Reconciler: s.loop, Workers: 5, Clock: clock.RealClock{}, Log: logr.Discard()})
	reconciler.Reconciler = start(tb, composite, s.server, map[string]engines.Program{"sync": sync}, queue).reconciler
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); queue.Run(ctx) }()
	tb.Cleanup(func() { cancel(); <-done })
	s.await(tb, 1)
	return s
}

// blow has every child change once, and returns when the hook was shown the last.
func (s *storm) blow(tb testing.TB) (passes int64) {
	before := s.loop.passes.Load()
	for _, child := range s.children {
		s.server.send(pods.GroupVersionResource, watch.Modified, child)
	}
	s.await(tb, int64(s.server.newest()))
	return s.loop.passes.Load() - before
}

// await returns when the hook was shown the version, and no pass follows any more.
func (s *storm) await(tb testing.TB, version int64) {
	tb.Helper()
	poll(tb, time.Millisecond, 30*time.Second, func() (bool, error) {
		seen := s.seen.Load()
		return seen >= version, fmt.Errorf("the hook was shown version %d, want %d", seen, version)
	})
	last := int64(-1)
	poll(tb, 20*time.Millisecond, 30*time.Second, func() (bool, error) {
		before := last
		last = s.loop.passes.Load()
		return last == before, fmt.Errorf("passes go on: %d", last)
	})
}

// TestStorm checks that events of children are gathered.
func TestStorm(t *testing.T) {
	if passes := newStorm(t, 100).blow(t); passes > 50 {
		t.Errorf("%d passes for 100 events, want few", passes)
	}
}

// BenchmarkStorm measures how many passes a thousand children cost that change one
// after the other, as fast as they can.
func BenchmarkStorm(b *testing.B) {
	s := newStorm(b, 1000)
	var passes int64
	for b.Loop() {
		passes += s.blow(b)
	}
	b.ReportMetric(float64(passes)/float64(b.N), "passes/storm")
}
