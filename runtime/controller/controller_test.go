package controller

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/telemetry/definitionmetrics"
)

type reconcileFunc func(context.Context, Key) (Result, error)

func (f reconcileFunc) Reconcile(ctx context.Context, key Key) (Result, error) { return f(ctx, key) }

// start runs a controller until the test ends.
func start(t *testing.T, clock clock.WithTicker, metrics *Metrics, f reconcileFunc) *Controller {
	t.Helper()
	c := New(Config{Name: "test", Reconciler: f, Workers: 2, Clock: clock, Log: logr.Discard(), Metrics: metrics})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); c.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-done })
	return c
}

func TestErrorIsRetried(t *testing.T) {
	passes := make(chan int, 10)
	count := 0
	c := start(t, clock.RealClock{}, nil, func(context.Context, Key) (Result, error) {
		count++
		passes <- count
		if count < 3 {
			return Result{}, errors.New("boom")
		}
		return Result{}, nil
	})
	c.Enqueue(Key{Name: "a"})
	for want := 1; want <= 3; want++ {
		if got := <-passes; got != want {
			t.Fatalf("pass %d, want %d", got, want)
		}
	}
}

func TestPanicIsAnError(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	passes := make(chan string, 10)
	panicked := false
	c := start(t, clock.RealClock{}, metrics, func(_ context.Context, key Key) (Result, error) {
		passes <- key.Name
		if key.Name == "bad" && !panicked {
			panicked = true
			panic("boom")
		}
		return Result{}, nil
	})
	c.Enqueue(Key{Name: "bad"})
	if first, second := <-passes, <-passes; first != "bad" || second != "bad" {
		t.Fatalf("passes over %s and %s, want the key that panicked to be tried again", first, second)
	}
	c.Enqueue(Key{Name: "good"})
	if got := <-passes; got != "good" {
		t.Fatalf("pass over %s, want good: the process goes on", got)
	}
	if got := testutil.ToFloat64(metrics.total.WithLabelValues(definitionmetrics.LoopValues("test", "error")...)); got != 1 {
		t.Errorf("counted %v errors, want 1", got)
	}
}

func TestRequeueAfter(t *testing.T) {
	fake := clocktesting.NewFakeClock(time.Now())
	passes := make(chan struct{}, 10)
	c := start(t, fake, nil, func(context.Context, Key) (Result, error) {
		passes <- struct{}{}
		return Result{RequeueAfter: time.Hour}, nil
	})
	c.Enqueue(Key{Name: "a"})
	<-passes
	// The queue sets its timer some time after the reconcile, so more steps than an hour may be needed,
	// but never fewer.
	deadline := time.After(10 * time.Second)
	for steps := 0; ; steps++ {
		select {
		case <-passes:
			if steps < 2 {
				t.Fatalf("a second pass after %d half-hours", steps)
			}
			return
		case <-deadline:
			t.Fatal("no second pass")
		default:
			fake.Step(31 * time.Minute)
		}
	}
}

func TestKeyString(t *testing.T) {
	cases := map[string]struct {
		key  Key
		want string
	}{
		"Namespaced": {key: Key{Namespace: "default", Name: "web"}, want: " default/web"},
		"Cluster":    {key: Key{Name: "web"}, want: " web"},
	}
	for name, tc := range cases {
		tc.key.Kind.Kind = "CatSet"
		if got := tc.key.String(); got != "CatSet"+tc.want {
			t.Errorf("%s: %q, want %q", name, got, "CatSet"+tc.want)
		}
	}
}

func TestForgetDropsSeries(t *testing.T) {
	registry := prometheus.NewRegistry()
	metrics := NewMetrics(registry)
	metrics.count("gone", "success")
	metrics.queue.NewAddsMetric("gone").Inc()
	metrics.Forget("gone")
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, series := range family.Metric {
			if strings.Contains(series.String(), "gone") {
				t.Errorf("%s still has %s", family.GetName(), series)
			}
		}
	}
}
