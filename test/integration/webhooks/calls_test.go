package webhooks

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestEtag shows that an answer which has not changed is not sent again, one for each parent.
func TestEtag(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	var version, unchanged atomic.Int64
	server.says(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name := "a"
		if strings.Contains(string(body), `"name":"b"`) {
			name = "b"
		}
		tag := fmt.Sprintf("%q", fmt.Sprint(name, version.Load()))
		w.Header().Set("ETag", tag)
		if r.Header.Get("If-None-Match") == tag {
			unchanged.Add(1)
			// Some servers say the other, and metacontroller takes both.
			w.WriteHeader(map[string]int{"a": http.StatusNotModified, "b": http.StatusPreconditionFailed}[name])
			return
		}
		fmt.Fprintf(w, `{"children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": %q}, "data": {"value": "%d"}}]}`, name,
			version.Load())
	})
	define(e, "etag", fmt.Sprintf("{webhook: {url: %q, etag: {enabled: true, cacheTimeoutSeconds: 60}}}", server.URL),
		"resyncPeriodSeconds: 1")
	applyThing(e, "etag", "a")
	applyThing(e, "etag", "b")
	for n := range int64(3) {
		version.Store(n)
		before := unchanged.Load()
		waitForValue(e, "a", fmt.Sprint(n))
		waitForValue(e, "b", fmt.Sprint(n))
		e.Eventually(func() error {
			if got := unchanged.Load() - before; got < 4 {
				return fmt.Errorf("%d answers of 304 and 412, want 4", got)
			}
			return nil
		})
		waitForValue(e, "a", fmt.Sprint(n))
		waitForValue(e, "b", fmt.Sprint(n))
	}
}

// TestRetryAfter shows that a server which is busy is asked when it says, and not all the time if it does not.
func TestRetryAfter(t *testing.T) {
	e := env.NewRunning(t)
	cases := map[string]struct {
		status    int
		header    func() string
		wantEvent bool // by an event
		atLeast   time.Duration
	}{
		"seconds": {status: 429, header: func() string { return "2" }, atLeast: 1900 * time.Millisecond},
		"date": {status: 429, header: func() string { return time.Now().Add(3 * time.Second).UTC().Format(http.TimeFormat) },
			atLeast: 1900 * time.Millisecond},
		"unavailable": {status: 503, header: func() string { return "2" }, atLeast: 1900 * time.Millisecond},
		"past":        {status: 429, header: func() string { return time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat) }, wantEvent: true},
		"silent":      {status: 429, header: func() string { return "" }, wantEvent: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // They wait for most of their time.
			e := e.WithT(t)
			server := serve(t, nil)
			var mu sync.Mutex
			var calls []time.Time
			const refusals = 2
			server.says(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				calls = append(calls, time.Now())
				n := len(calls)
				mu.Unlock()
				if n <= refusals {
					w.Header().Set("Retry-After", c.header())
					w.WriteHeader(c.status)
					return
				}
				wanting("yes")(w, r)
			})
			define(e, name, webhook(server.URL), "")
			applyThing(e, name, name)
			waitForValue(e, name, "yes")
			mu.Lock()
			defer mu.Unlock()
			for i := range refusals {
				if pause := calls[i+1].Sub(calls[i]); pause < c.atLeast {
					t.Errorf("called again after %s, want at least %s", pause, c.atLeast)
				}
			}
			if c.wantEvent {
				e.WaitForEvent(name, "SyncError", fmt.Sprint("answered ", c.status))
			} else {
				mustNotTellOf(e, server.URL)
			}
		})
	}
}

// TestNoHotLoop shows that a server which always says 429 and never when is asked less and less.
func TestNoHotLoop(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) })
	define(e, "busy", webhook(server.URL), "")
	applyThing(e, "busy", "busy")
	e.WaitForEvent("busy", "SyncError", "answered 429 Too Many Requests")
	cluster.Consistently(t, 4*time.Second, func() error {
		if n := server.called(); n > 20 {
			return fmt.Errorf("called %d times", n)
		}
		return nil
	})
}

// TestService shows where a Service is called: by a proxy that takes the place of the cluster's DNS.
func TestService(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodConnect {
			asked["https://"+r.Host] = true
			http.Error(w, "no tunnels", http.StatusForbidden)
			return
		}
		asked[r.URL.String()] = true
		wanting("yes")(w, r)
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	e := env.NewRunning(t)
	for name, service := range map[string]string{"port": "{name: hooks, namespace: prod, port: 8080}",
		"standard": "{name: hooks, namespace: prod}"} {
		define(e, name, fmt.Sprintf("{webhook: {service: %s, path: %s}}", service, env.Quote("/"+name+"?a=b")), "")
		applyThing(e, name, name)
		waitForValue(e, name, "yes")
	}
	define(e, "secure", "{webhook: {service: {name: hooks, namespace: prod, port: 8443, protocol: https}, path: /sync}}", "")
	applyThing(e, "secure", "secure")
	e.WaitForEvent("secure", "SyncError", "https://hooks.prod:8443/sync")
	mu.Lock()
	defer mu.Unlock()
	for _, want := range []string{"http://hooks.prod:8080/port?a=b", "http://hooks.prod:80/standard?a=b", "https://hooks.prod:8443"} {
		if !asked[want] && !asked[strings.Replace(want, ":80/", "/", 1)] {
			t.Errorf("%s was not called, only %v", want, asked)
		}
	}
}

func TestUnknownServiceIsTold(t *testing.T) {
	e := env.NewRunning(t)
	define(e, "gone", "{webhook: {service: {name: no-hooks, namespace: nowhere, port: 8080}, path: /sync}}", "")
	applyThing(e, "gone", "gone")
	e.WaitForEvent("gone", "SyncError", "HookFailed: sync hook: http://no-hooks.nowhere:8080/sync: ", "no-hooks.nowhere")
}

// TestTroubles shows what is reported of servers that do not answer as they should; nothing is changed meanwhile.
func TestTroubles(t *testing.T) {
	e := env.NewRunning(t)
	stranger := serve(t, nil)
	cases := map[string]struct {
		edit      func(*httptest.Server)
		answer    http.HandlerFunc
		more      string // of the webhook
		wantEvent string
	}{
		"redirect": {answer: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, stranger.URL, http.StatusTemporaryRedirect)
		},
			wantEvent: "redirected to another server, " + stranger.URL},
		"loop": {answer: func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/", http.StatusPermanentRedirect) },
			wantEvent: "more than 5 redirects"},
		"stranger": {edit: plain, answer: wanting("no"), wantEvent: "in caBundle"},
		"html":     {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Sign in</html>") }, wantEvent: "looks like HTML"},
		"created": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"children": []}`)
		},
			wantEvent: "answered 201 Created"},
		"error": {answer: func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "boom", http.StatusInternalServerError) },
			wantEvent: "answered 500 Internal Server Error: boom"},
		"slow": {answer: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, more: ", timeout: 300ms",
			wantEvent: "HookTimedOut: sync hook: "},
		"no-list": {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{}`) },
			wantEvent: "HookResponseInvalid: sync hook: children: is required"},
		"misspelt": {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"Children": []}`) }, wantEvent: `(there is "Children")`},
		"doubled": {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"children": [], "children": []}`) },
			more: ", responseUnMarshallMode: strict", wantEvent: `duplicate field "children"`},
		"unknown": {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"children": [], "kids": []}`) },
			more: ", responseUnMarshallMode: strict", wantEvent: "kids: is no field"},
		"half": {answer: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, `{"children": []}`)
		}, wantEvent: "the response ended after 16 bytes"},
		"unasked": {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, wantEvent: "it was not sent If-None-Match"},
		"too-large": {answer: func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintf(w, "%q", strings.Repeat("x", 9<<20)) },
			wantEvent: "HookLimitExceeded: sync hook: "},
	}
	t.Cleanup(func() {
		if n := stranger.called(); n != 0 {
			t.Errorf("the request went to another server %d times", n)
		}
	})
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := e.WithT(t)
			target := serve(t, c.edit)
			target.says(c.answer)
			// The child is there from before, by a server that answers as it should.
			define(e, name, webhook(serve(t, nil).URL), "")
			applyThing(e, name, name)
			waitForValue(e, name, "yes")
			define(e, name, fmt.Sprintf("{webhook: {url: %q%s}}", target.URL, c.more), "")
			e.WaitForEvent(name, "SyncError", c.wantEvent)
			waitForValue(e, name, "yes")
		})
	}
}

// TestLooseAnswers shows what a webhook that says loose may leave out, or write twice.
func TestLooseAnswers(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	server.says(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"children": [], "kids": 1, "children": [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "loose"}, "data": {"value": "last"}}]}`)
	})
	define(e, "loose", fmt.Sprintf("{version: v2, webhook: {url: %q, responseUnMarshallMode: loose}}", server.URL), "resyncPeriodSeconds: 1")
	applyThing(e, "loose", "loose")
	waitForValue(e, "loose", "last")
	server.says(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `null`) })
	e.WaitForDeletion(env.ConfigMaps, "loose", "")
}

// TestRequestIDs shows that a call is found in the logs of both sides.
func TestRequestIDs(t *testing.T) {
	e := env.NewRunning(t)
	server := serve(t, nil)
	var id, agent atomic.Value
	server.says(func(w http.ResponseWriter, r *http.Request) {
		id.Store(r.Header.Get("X-Request-Id"))
		agent.Store(r.Header.Get("User-Agent"))
		w.WriteHeader(http.StatusInternalServerError)
	})
	define(e, "ids", webhook(server.URL), "")
	applyThing(e, "ids", "ids")
	e.WaitForEvent("ids", "SyncError", "answered 500")
	e.Eventually(func() error {
		if given, _ := id.Load().(string); given == "" || !strings.Contains(e.Libretto().Log(), "request "+given) {
			return fmt.Errorf("the request %q is not in the log", given)
		}
		return nil
	})
	if name, _ := agent.Load().(string); !strings.HasPrefix(name, "libretto/") {
		t.Errorf("User-Agent is %q", name)
	}
}
