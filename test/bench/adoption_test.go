package bench

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/libretto-k8s/libretto/engines"
)

// orphan makes a pod without an owner. Its label app is its own; component it
// shares with all others and with the children of families.
func orphan(namespace, name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{
			"namespace": namespace, "name": name, "uid": "uid-of-" + name, "resourceVersion": "5",
			"labels": map[string]any{"app": name, "component": "frontend"},
		},
	}}
}

// withForeignOrphans has a parent of ten children settle among orphans that are
// none of its business: half in its namespace, half in others. It selects its
// children by matchLabels.
func withForeignOrphans(tb testing.TB, orphans int, matchLabels map[string]any) *rig {
	tb.Helper()
	web, observed, answer := family(tb, 10)
	if err := unstructured.SetNestedMap(web.Object, matchLabels, "spec", "selector", "matchLabels"); err != nil {
		tb.Fatal(err)
	}
	server := newAPIServer()
	server.add(webs.GroupVersionResource, web)
	server.add(pods.GroupVersionResource, observed...)
	for i := range orphans {
		server.add(pods.GroupVersionResource, orphan([]string{"default", "other"}[i%2], fmt.Sprintf("orphan-%d", i)))
	}
	r := &rig{key: keyOf(web)}
	r.testEnv = start(tb, composite, server, map[string]engines.Program{"sync": hook(func(map[string]any) map[string]any {
		r.calls++
		return answer
	})}, nil)
	r.reconcile(tb, r.key)
	return r
}

// Ways to select the children of a family: by a label that no orphan has, and by
// two, of which orphans have the one that would be looked up first.
var (
	byOwnLabel    = map[string]any{"app": "web"}
	bySharedLabel = map[string]any{"component": "frontend", "version": "v1.2.3"}
)

// BenchmarkPassAmongOrphans makes passes, of which foreign orphans must not raise
// the cost, even if they share a label with the selector.
func BenchmarkPassAmongOrphans(b *testing.B) {
	for _, c := range []struct {
		name        string
		matchLabels map[string]any
	}{{"OwnLabel", byOwnLabel}, {"SharedLabel", bySharedLabel}} {
		for _, orphans := range []int{0, 5000, 50_000} {
			r := withForeignOrphans(b, orphans, c.matchLabels)
			b.Run(fmt.Sprintf("%s/orphans=%d", c.name, orphans), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					r.idle(b)
				}
			})
		}
	}
}

// manyParents starts a definition with parents that select each a label of their own.
func manyParents(tb testing.TB, number int) (*testEnv, queue) {
	tb.Helper()
	server, q := newAPIServer(), newQueue()
	for i := range number {
		server.add(webs.GroupVersionResource, web(tb, "default", fmt.Sprintf("web-%d", i)))
	}
	w := start(tb, composite, server, nil, q)
	q.take(tb, number)
	return w, q
}

// orphanEvent has an orphan appear that one parent might adopt, and returns that.
func orphanEvent(tb testing.TB, w *testEnv, q queue) string {
	w.server.send(pods.GroupVersionResource, watch.Modified, orphan("default", "web-7"))
	return q.take(tb, 1)[0].Name
}

// TestOrphans checks what the benchmarks of adoption measure.
func TestOrphans(t *testing.T) {
	r := withForeignOrphans(t, 100, bySharedLabel)
	r.full(t)
	if r.calls != 2 {
		t.Errorf("the hook was called %d times, want twice", r.calls)
	}
	w, q := manyParents(t, 100)
	if got := orphanEvent(t, w, q); got != "web-7" {
		t.Errorf("%s was enqueued, want web-7, the only parent that selects the orphan", got)
	}
	if more := q.drain(); more > 0 {
		t.Errorf("%d parents besides were enqueued, want none", more)
	}
}

// BenchmarkOrphanEvent measures from a watch event of an orphan until the one
// parent is enqueued that might adopt it.
func BenchmarkOrphanEvent(b *testing.B) {
	for _, parents := range []int{10, 1000, 10_000} {
		w, q := manyParents(b, parents)
		b.Run(fmt.Sprintf("parents=%d", parents), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				orphanEvent(b, w, q)
			}
		})
	}
}
