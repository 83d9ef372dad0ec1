package dev

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// store is an API server with objects by path.
type store map[string]string

func (s store) RoundTrip(request *http.Request) (*http.Response, error) {
	code, answer := http.StatusOK, `{"message": "refused"}`
	path := strings.TrimSuffix(request.URL.Path, "/status")
	switch request.Method {
	case http.MethodGet:
		if answer = s[path]; answer == "" {
			code = http.StatusNotFound
		}
	case http.MethodDelete:
		delete(s, path)
	default:
		body, err := io.ReadAll(request.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(body), "refuse") {
			code = http.StatusUnprocessableEntity
			break
		}
		if request.Method == http.MethodPost {
			path += "/made"
		}
		s[path], answer = string(body), `{"kind": "PartialObjectMetadata", "metadata": {"name": "made"}}`
	}
	return &http.Response{StatusCode: code, Status: http.StatusText(code), Body: io.NopCloser(strings.NewReader(answer))}, nil
}

// TestRecord makes passes, and compares what is kept of them.
func TestRecord(t *testing.T) {
	const pods = "/api/v1/namespaces/a/pods"
	pod := func(name, image string) string {
		return `{"kind":"Pod","metadata":{"namespace":"a","name":"` + name + `","managedFields":[]},"spec":{"image":"` + image + `"}}`
	}
	for name, c := range map[string]struct {
		reason string
		do     func(t *testing.T, send func(method, path, body string) string)
		err    error
		want   string
	}{
		"create": {
			reason: "the name is that which the API server gave", do: func(_ *testing.T, send func(string, string, string) string) {
				send("POST", pods, pod("made", "b"))
			},
			want: `[{"verb":"create","kind":"Pod","namespace":"a","name":"made","error":"","after":` + pod("made", "b") + `}]`,
		},
		"status": {
			reason: "the object is read, not the subresource", do: func(_ *testing.T, send func(string, string, string) string) {
				send("PUT", pods+"/p/status", pod("p", "c"))
			},
			want: `[{"verb":"update status","kind":"Pod","namespace":"a","name":"p","error":"","before":` + pod("p", "a") + `,"after":` + pod("p", "c") + `}]`,
		},
		"delete": {
			reason: "nothing is left", do: func(_ *testing.T, send func(string, string, string) string) { send("DELETE", pods+"/p", "") },
			want: `[{"verb":"delete","kind":"Pod","namespace":"a","name":"p","error":"","before":` + pod("p", "a") + `}]`,
		},
		"refused": {
			reason: "nothing has changed, and the client gets the answer", do: func(t *testing.T, send func(string, string, string) string) {
				if got := send("PATCH", pods+"/p", `{"spec":"refuse"}`); got != `{"message": "refused"}` {
					t.Errorf("the client got %s", got)
				}
			},
			want: `[{"verb":"patch","kind":"Pod","namespace":"a","name":"p","error":"refused","before":` + pod("p", "a") + `,"after":` + pod("p", "a") + `}]`,
		},
		"refused creation": {
			reason: "what was sent tells what it is about", do: func(_ *testing.T, send func(string, string, string) string) {
				send("POST", pods, pod("refuse", "b"))
			},
			want: `[{"verb":"create","kind":"Pod","namespace":"a","name":"refuse","error":"refused"}]`,
		},
		"others": {
			reason: "questions, tokens, events and tries write nothing", do: func(_ *testing.T, send func(string, string, string) string) {
				send("GET", pods, "")
				send("POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "{}")
				send("POST", "/api/v1/namespaces/a/serviceaccounts/s/token", "{}")
				send("POST", "/api/v1/namespaces/a/events", "{}")
				send("POST", pods+"?dryRun=All", pod("made", "b"))
			},
		},
		"failed": {reason: "a pass without calls and writes is kept if it fails", err: errors.New("boom"), want: `[]`},
		"later":  {reason: "one that is tried again did not fail", err: controller.ErrLater},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			failing := "?"
			r := &recorder{stream: newStream(), passes: map[int64]*passDetails{}, ended: func(_ types.UID, message string) { failing = message }}
			client := r.wrap(store{pods + "/p": pod("p", "a")})
			ctx := r.Begin(t.Context(), "CompositeController c", &unstructured.Unstructured{Object: map[string]any{}})
			if c.do != nil {
				c.do(t, func(method, path, body string) string { return send(ctx, t, client, method, path, body) })
			}
			r.End(ctx, c.err)
			p := r.pass(1)
			if c.want == "" {
				if p != nil {
					t.Errorf("kept: %+v", p)
				}
				return
			}
			if p == nil {
				t.Fatal("nothing is kept")
			}
			if wantFailing := textOf(c.err); failing != wantFailing || p.Error != wantFailing {
				t.Errorf("error %q, told %q, want %q", p.Error, failing, wantFailing)
			}
			got, err := json.Marshal(append([]write{}, p.Writes...))
			if err != nil {
				t.Fatal(err)
			}
			var gotJSON, wantJSON any
			if err := errors.Join(json.Unmarshal(got, &gotJSON), json.Unmarshal([]byte(strings.ReplaceAll(c.want, `,"managedFields":[]`, "")), &wantJSON)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(wantJSON, gotJSON); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// send sends a request of a pass.
func send(ctx context.Context, t *testing.T, client http.RoundTripper, method, path, body string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(ctx, method, "http://api"+path, bytes.NewReader([]byte(body)))
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(answer)
}

// TestCalls checks what is kept of calls, and that the last passes and lines are.
func TestCalls(t *testing.T) {
	s := newStream()
	r := &recorder{stream: s, passes: map[int64]*passDetails{}, ended: func(types.UID, string) {}}
	parent := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"namespace": "a", "name": "p"}}}
	for range maxPasses + 1 {
		ctx := r.Begin(t.Context(), "CompositeController c", parent)
		r.Called(ctx, "sync", engines.Call{Subject: "s", Request: map[string]any{"a": 1}},
			engines.Response{Body: "b", Read: engines.ReadSet{"parent.spec"}, Logs: []string{"l"}}, errors.New("boom"))
		r.Called(ctx, "sync", engines.Call{}, engines.Response{}, nil)
		r.End(ctx, nil)
	}
	got := r.pass(maxPasses + 1)
	if r.pass(1) != nil || got == nil || len(s.byKey) != maxPasses+maxLogs {
		t.Fatalf("kept: %t, %t, %d messages", r.pass(1) != nil, got != nil, len(s.byKey))
	}
	want := []call{
		{Hook: "sync", Subject: "s", Request: map[string]any{"a": 1}, Response: "b", Reads: []string{"parent.spec"}, Logs: []string{"l"}, Error: "boom"},
		{Hook: "sync", Reads: []string{}, Logs: []string{}},
	}
	if diff := cmp.Diff(want, got.Calls); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"sync"}, got.Hooks); diff != "" {
		t.Errorf("hooks (-want +got):\n%s", diff)
	}
}
