package migration

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestAddresses shows what metacontroller's flags for addresses do.
func TestAddresses(t *testing.T) {
	w := env.New(t)
	w.Start("--metrics-address=0")
	if log := w.Libretto().Log(); strings.Contains(log, `"for": "metrics"`) || strings.Contains(log, `"for": "profiling"`) {
		t.Errorf("metrics are served, which were turned off, or profiles, which are off:\n%s", log)
	}
	w.Kill()
	w.Start("--metrics-address=127.0.0.1:0", "--pprof-address=127.0.0.1:0")
	found := regexp.MustCompile(`listening\s.*"for": "profiling", "address": "([^"]+)"`).FindStringSubmatch(w.Libretto().Log())
	if found == nil {
		t.Fatalf("no profiles are served:\n%s", w.Libretto().Log())
	}
	response, err := http.Get("http://" + found[1] + "/debug/pprof/cmdline")
	env.NoError(t, err)
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("/debug/pprof/cmdline: %s", response.Status)
	}
}

// newServed starts libretto with flags with a composite that has one parent.
func newServed(t *testing.T, flags ...string) (s *testEnv, definition string) {
	t.Helper()
	s = newEnv(t)
	f := family{kind: env.Composite, version: "v1", method: "InPlace", generated: true}
	s.define("flags", f)
	s.createLegacyParent("one", f, "flags", map[string]any{"text": "one", "count": int64(1)})
	s.Start(flags...)
	s.WaitFor(env.ConfigMaps, "one-0", nil)
	return s, s.definitionName("flags")
}

// TestFlush has all parents synced again and again, though nothing changes.
func TestFlush(t *testing.T) {
	s, name := newServed(t, "--cache-flush-interval=1s")
	s.WaitForReconciles(name, s.Reconciles(name, "success"), 3)
}

// TestMetricsNames shows the metrics that dashboards for metacontroller ask for, where they are the same here.
func TestMetricsNames(t *testing.T) {
	s, name := newServed(t)
	s.WaitForReconciles(name, 0, 1)
	metrics := s.Metrics()
	queue := map[string]string{"name": "CompositeController-" + name}
	if metrics.Sum("workqueue_adds_total", queue) < 1 {
		t.Errorf("workqueue_adds_total has nothing of %v", queue)
	}
	for _, metric := range []string{"workqueue_depth", "workqueue_queue_duration_seconds", "workqueue_work_duration_seconds",
		"workqueue_retries_total", "rest_client_requests_total", "go_goroutines", "process_cpu_seconds_total"} {
		if metrics[metric] == nil {
			t.Errorf("there is no metric %s", metric)
		}
	}
}

// TestWorkers shows how many parents of a definition are synced at once.
func TestWorkers(t *testing.T) {
	const workers = 3
	s := newEnv(t)
	var under, most atomic.Int64
	release := make(chan struct{})
	s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/sync") {
			now := under.Add(1)
			defer under.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			<-release
		}
		s.hooks.serve(w, r)
	})
	f := family{kind: env.Composite, version: "v1", method: "InPlace", generated: true}
	s.define("workers", f)
	for n := range 3 * workers {
		s.createLegacyParent(fmt.Sprint("busy-", n), f, "workers", map[string]any{"text": "one", "count": int64(1)})
	}
	s.Start(fmt.Sprint("--workers=", workers))
	s.Eventually(func() error {
		if now := under.Load(); now < workers {
			return fmt.Errorf("%d calls are under way, want %d", now, workers)
		}
		return nil
	})
	close(release)
	for n := range 3 * workers {
		s.WaitFor(env.ConfigMaps, fmt.Sprintf("busy-%d-0", n), nil)
	}
	if got := most.Load(); got != workers {
		t.Errorf("up to %d calls were under way, want %d", got, workers)
	}
}

// TestEventsBurst shows that events of one type about one object are limited as the flags say.
func TestEventsBurst(t *testing.T) {
	s, name := newServed(t, "--events-burst=1", "--events-qps=0.0001")
	s.WaitForEvent(name, "Starting")
	s.WaitForReconciles(name, 0, 1)
	s.WaitForQuiet()
	list, err := s.Cluster.Dynamic().Resource(env.Events).Namespace("default").List(t.Context(),
		metav1.ListOptions{FieldSelector: "type=Normal,involvedObject.name=" + name})
	env.NoError(t, err)
	if len(list.Items) != 1 {
		t.Errorf("there are %d events about the definition, want 1", len(list.Items))
	}
}

// TestLease shows that of two processes one works, by metacontroller's lease, and that the other takes over without a write.
func TestLease(t *testing.T) {
	s := newEnv(t)
	flags := append([]string{"-v=1", "--leader-election", "--leader-election-resource-lock=leases",
		"--leader-election-namespace=" + s.Namespace}, manifest...)
	s.Start(flags...)
	f := family{kind: env.Composite, version: "v1", method: "InPlace", generated: true}
	s.define("leading", f)
	s.createLegacyParent("one", f, "leading", map[string]any{"text": "one", "count": int64(1)})
	s.WaitFor(env.ConfigMaps, "one-0", nil)
	notLease := func(r cluster.Request) bool { return r.Resource != "leases" }
	leases := schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}
	holder := func(o *unstructured.Unstructured) string { return field(o, "spec", "holderIdentity") }
	first := holder(s.WaitFor(leases, "metacontroller", nil))

	ctx, cancel := context.WithTimeout(t.Context(), env.Timeout)
	defer cancel()
	second, err := s.Cluster.StartLibretto(ctx, flags...)
	env.NoError(t, err)
	defer func() {
		if err := second.Stop(); err != nil {
			t.Error(err)
		}
	}()
	passes := func() float64 {
		metrics, err := second.Metrics(t.Context())
		env.NoError(t, err)
		return metrics.Sum("libretto_definition_reconcile_total",
			map[string]string{"kind": "CompositeController", "definition": s.definitionName("leading"), "outcome": "success"})
	}
	s.Patch(schema.GroupVersionResource{Group: s.Group, Version: "v1", Resource: "things"}, "one", `{"spec": {"count": 2}}`)
	s.WaitFor(env.ConfigMaps, "one-1", nil)
	s.WaitForQuietOf(notLease)
	if n := passes(); n > 0 {
		t.Errorf("the second process has made %v passes while the first one leads", n)
	}
	mark := s.Mark()
	env.NoError(t, s.Libretto().Stop())
	s.Eventually(func() error {
		if passes() < 1 {
			return errors.New("the second process does not work yet")
		}
		return nil
	})
	if now := holder(s.WaitFor(leases, "metacontroller", nil)); now == first || now == "" {
		t.Errorf("the lease is held by %q", now)
	}
	s.WaitForQuietOf(notLease)
	writes := s.librettosWrites(mark).Filter(func(r cluster.Request) bool { return r.Resource != "leases" })
	if len(writes) > 0 {
		t.Errorf("the second process writes where nothing differs:\n%s", writes)
	}
}
