package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

// benchmarkServer is a parent with children as the API server returns them, about 3.5 KB
// each, and a server that wants them as they are.
type benchmarkServer struct {
	request map[string]any
	body    []byte
	server  *httptest.Server
}

func newBenchmarkServer(tb testing.TB, children int) *benchmarkServer {
	tb.Helper()
	group := map[string]any{}
	for i := range children {
		name := fmt.Sprintf("web-%d", i)
		group["default/"+name] = pod(name)
	}
	s := &benchmarkServer{request: map[string]any{
		"controller": object("CompositeController", "webs"), "parent": object("Web", "web"), "children": map[string]any{"Pod.v1": group},
		"related": map[string]any{}, "finalizing": false,
	}}
	answer, err := json.Marshal(map[string]any{"status": map[string]any{"replicas": children}, "children": desired(children)})
	if err != nil {
		tb.Fatal(err)
	}
	if s.body, err = json.Marshal(s.request); err != nil {
		tb.Fatal(err)
	}
	s.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = w.Write(answer)
	}))
	tb.Cleanup(s.server.Close)
	return s
}

func object(kind, name string) map[string]any {
	return map[string]any{"apiVersion": "example.com/v1", "kind": kind, "metadata": map[string]any{
		"name": name, "uid": "uid-" + name, "resourceVersion": "1",
	}}
}

func pod(name string) map[string]any {
	p := object("Pod", name)
	env, conditions := []any{}, []any{}
	for i := range 30 {
		env = append(env, map[string]any{"name": fmt.Sprintf("SETTING_%d", i), "value": "a value of some length <&> \"quoted\""})
	}
	for _, kind := range []string{"Initialized", "Ready", "ContainersReady", "PodScheduled"} {
		conditions = append(conditions, map[string]any{"type": kind, "status": "True", "lastTransitionTime": "2026-10-03T12:00:00Z"})
	}
	p["spec"] = map[string]any{"containers": []any{map[string]any{"name": "web", "image": "example.com/web:1", "env": env}}, "priority": int64(0)}
	p["status"] = map[string]any{"phase": "Running", "conditions": conditions}
	return p
}

func desired(children int) []any {
	list := []any{}
	for i := range children {
		p := pod(fmt.Sprintf("web-%d", i))
		delete(p, "status")
		containers := p["spec"].(map[string]any)["containers"].([]any)
		containers[0].(map[string]any)["env"] = containers[0].(map[string]any)["env"].([]any)[:8]
		list = append(list, p)
	}
	return list
}

// BenchmarkCall compares a call with what any client has to do that asks the same
// server: post the same bytes with net/http, and read and decode the answer. The
// two take turns, so that what else the machine does is shared. "bare" and
// "unread", which does not decode, are in ns as well.
func BenchmarkCall(b *testing.B) {
	for _, children := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("%d children", children), func(b *testing.B) {
			s := newBenchmarkServer(b, children)
			client := &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
			program, call := compile(b, endpoint(s.server.URL)), engines.Call{Request: s.request, Now: start}
			var ours, bare, unread time.Duration
			for b.Loop() {
				ours += timed(func() {
					if _, err := program.Run(b.Context(), call); err != nil {
						b.Fatal(err)
					}
				})
				bare += timed(func() { s.bare(b, client) })
				unread += timed(func() { s.post(b, client) })
			}
			b.ReportMetric(float64(ours)/float64(bare), "times-bare")
			b.ReportMetric(float64(ours.Nanoseconds())/float64(b.N), "ns/call")
			b.ReportMetric(float64(bare.Nanoseconds())/float64(b.N), "ns/bare")
			b.ReportMetric(float64(unread.Nanoseconds())/float64(b.N), "ns/unread")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func timed(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}

// bare returns a call without this package.
func (s *benchmarkServer) bare(tb testing.TB, client *http.Client) any {
	tb.Helper()
	var answer any
	if err := utiljson.Unmarshal(s.post(tb, client), &answer); err != nil {
		tb.Fatal(err)
	}
	return answer
}

func (s *benchmarkServer) post(tb testing.TB, client *http.Client) []byte {
	tb.Helper()
	response, err := client.Post(s.server.URL, "application/json", bytes.NewReader(s.body))
	if err != nil {
		tb.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// BenchmarkEncode is the share of a call that makes the request: of objects that
// were sent before, and of new ones.
func BenchmarkEncode(b *testing.B) {
	request := newBenchmarkServer(b, 100).request
	for name, size := range map[string]int{"sent before": jsonCacheBytes, "new": 0} {
		b.Run(name, func(b *testing.B) {
			x := &exchange{program: &program{engine: &engine{jsonCache: newJSONCache(size)}}, call: engines.Call{Request: request}}
			for b.Loop() {
				body, err := x.encode()
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(body.text)))
				body.release()
			}
		})
	}
	b.Run("encoding/json", func(b *testing.B) {
		for b.Loop() {
			if _, err := json.Marshal(request); err != nil {
				b.Fatal(err)
			}
		}
	})
}
