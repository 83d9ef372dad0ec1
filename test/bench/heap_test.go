package bench

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

// replicas is how many pods have one template.
const replicas = 20

// podList serves a list of pods as an API server writes it: so many, each of so
// many bytes. They are made of templates of their own image, labels and sizes,
// for a number of pods each; names, nodes, addresses, times and mounts of tokens
// are each pod's own, as in a cluster. A watch has each of them change once.
func podList(tb testing.TB, number, size, perTemplate int) http.Handler {
	tb.Helper()
	observed, _ := podPair(tb)
	observed.SetUID("1d6d4f0e-6d0c-4f5c-8c7a-NUMBER")
	observed.SetAnnotations(map[string]string{"example.com/config-hash": "GROUP", "filler": "FILLER"})
	data, err := observed.MarshalJSON()
	if err != nil {
		tb.Fatal(err)
	}
	template := strings.TrimSpace(string(data))
	filler := strings.Repeat("x", max(0, size-len(template)))
	fill := func(i int) *strings.Replacer {
		n, g := fmt.Sprintf("%012d", i), fmt.Sprintf("%05d", i/perTemplate)
		return strings.NewReplacer("NUMBER", n, "GROUP", g, "FILLER", filler, "web-0", "web-"+n, "kube-api-access-x7k2p", "kube-api-access-"+n[7:],
			"node-7", fmt.Sprintf("node-%d", i%97), "10.2.3.4", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), "10.1.0.7", fmt.Sprintf("10.1.0.%d", i%97),
			"2024-05-01T12:00", fmt.Sprintf("2024-05-01T%02d:%02d", i/60%24, i%60), "v1.2.3", "v1."+g, `"web"`, `"web`+g+`"`, "/etc/web", "/etc/web"+g,
			"256Mi", g+"Mi", "9b2c1c58-9ab5", "9b2c1c58-"+g)
	}
	pod := func(w io.Writer, i, version int) {
		_, _ = fill(i).WriteString(w, strings.Replace(template, "184467", fmt.Sprint(version), 1))
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		query := r.URL.Query()
		switch {
		case query.Get("sendInitialEvents") != "":
			http.Error(w, "not served", http.StatusUnprocessableEntity)
			return
		case query.Get("watch") != "":
			for i := range number {
				_, _ = io.WriteString(w, `{"type":"MODIFIED","object":`)
				pod(w, i*7919%number, number+i) // Neighbours do not change one after the other.
				_, _ = io.WriteString(w, "}\n")
			}
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return
		}
		_, _ = fmt.Fprintf(w, `{"apiVersion":"v1","kind":"PodList","metadata":{"resourceVersion":"%d"},"items":[`, number)
		for i := range number {
			if i > 0 {
				_, _ = io.WriteString(w, ",")
			}
			pod(w, i, i)
		}
		_, _ = io.WriteString(w, "]}")
	})
}

// heapPerObject fills the cache of a resource, has every object change once, and
// gives the bytes of heap that each then takes, its place in the indexes included.
func heapPerObject(tb testing.TB, number, size, perTemplate int) float64 {
	tb.Helper()
	server := httptest.NewServer(podList(tb, number, size, perTemplate))
	defer server.Close()
	client, err := informer.RESTClientFor(&rest.Config{Host: server.URL})
	if err != nil {
		tb.Fatal(err)
	}
	before := heap()
	ctx, cancel := context.WithTimeout(tb.Context(), time.Minute)
	defer cancel()
	cache := informer.NewRESTPool(ctx, client, logr.Discard()).Open(pods.GroupVersionResource)
	defer cache.Close()
	changed := make(chan struct{}, number)
	err = cache.Watch(func(e informer.Event) {
		if e.Old != nil {
			changed <- struct{}{}
		}
	})
	if err != nil {
		tb.Fatal(err)
	}
	for range number {
		select {
		case <-changed:
		case <-ctx.Done():
			tb.Fatalf("the cache does not follow: %v", cache.Err())
		}
	}
	after := heap()
	if got := len(cache.List()); got != number {
		tb.Fatalf("the cache holds %d objects, want %d", got, number)
	}
	return (float64(after) - float64(before)) / float64(number)
}

func heap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// TestHeap bounds what BenchmarkHeap measures, among so few objects that what the
// cache has for all of them together weighs a fifth.
func TestHeap(t *testing.T) {
	const size = 3500
	if got := heapPerObject(t, 1000, size, replicas); got > 3*size {
		t.Errorf("a cached pod of %d bytes of JSON takes %.0f bytes, want at most three times as much", size, got)
	}
}

// BenchmarkHeap measures the memory of a cached object, decoded by the real client
// from what an API server sends. Its time is that of filling the cache.
func BenchmarkHeap(b *testing.B) {
	for _, perTemplate := range []int{1, replicas} {
		b.Run(fmt.Sprintf("replicas=%d", perTemplate), func(b *testing.B) {
			for b.Loop() {
				b.ReportMetric(heapPerObject(b, 10_000, 3500, perTemplate), "bytes/object")
			}
		})
	}
}
