package dev

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/apiserver"
)

// newTestServer returns a server of a folder.
func newTestServer(t *testing.T, live, edit bool) *server {
	t.Helper()
	text := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
	}
	s := newStream()
	memory, err := apiserver.New(apiserver.Config{Clock: clock.RealClock{}})
	if err != nil {
		t.Fatal(err)
	}
	return &server{
		meta: metaMessage{Live: live, Edit: edit, Folder: "hello", Version: "v1"}, root: t.TempDir(), stream: s,
		recorder: &recorder{stream: s, passes: map[int64]*passDetails{}}, tests: &tests{started: make(chan struct{}, 1)},
		kubernetes: text("kubernetes"), page: text("page"), objects: &objects{memory: memory},
	}
}

// TestHandler sends requests, and compares what is answered.
func TestHandler(t *testing.T) {
	for name, c := range map[string]struct {
		reason                     string
		method, path, host, origin string
		body                       string
		live, edit                 bool
		code                       int
		answer                     string
	}{
		"page":             {reason: "the page is at /", path: "/", code: 200, answer: "page"},
		"IPv6":             {reason: "each name of this machine will do", path: "/", host: "[::1]:8001", code: 200},
		"address":          {reason: "with the address, too", path: "/", host: "127.0.0.1", code: 200},
		"own":              {reason: "the page says where it is from", path: "/", origin: "http://localhost:8001", code: 200},
		"rebinding":        {reason: "a name that leads here is another site's", path: "/", host: "evil.example:8001", code: 403},
		"no host":          {reason: "a browser has one", path: "/", host: "localhost.evil.example", code: 403},
		"site":             {reason: "another site", path: "/dev/v1/stream", origin: "https://evil.example", code: 403},
		"port":             {reason: "another page of this machine", path: "/api", origin: "http://localhost:3000", code: 403},
		"https":            {reason: "another origin", path: "/api", origin: "https://localhost:8001", code: 403},
		"sandbox":          {reason: "a page without an origin", path: "/api", origin: "null", code: 403},
		"site's write":     {reason: "what writes above all", method: "POST", path: "/dev/v1/ready", origin: "http://evil", body: "{}", code: 403},
		"kubernetes":       {reason: "kubectl has this address", path: "/apis/apps/v1/deployments", code: 200, answer: "kubernetes"},
		"core":             {reason: "kubectl asks for versions", path: "/api", code: 200, answer: "kubernetes"},
		"meta":             {reason: "what the page is of", path: "/dev/v1/meta", code: 200, answer: `{"live":false,"edit":false,"folder":"hello","version":"v1"}`},
		"no pass":          {reason: "a pass that was long ago", path: "/dev/v1/passes/7", code: 404, answer: "pass 7 is not kept"},
		"ready":            {reason: "it is passed on", method: "POST", path: "/dev/v1/ready", body: `{"kind":"Pod","ready":null}`, code: 200},
		"no JSON":          {reason: "a mistake of the page", method: "POST", path: "/dev/v1/ready", body: `{`, code: 400, answer: "unexpected EOF"},
		"ready, live":      {reason: "a cluster of others is not written to", live: true, method: "POST", path: "/dev/v1/ready", body: "{}", code: 404},
		"file":             {reason: "the page edits a file", edit: true, method: "PUT", path: "/dev/v1/files/lib/sync.js", body: "text", code: 200},
		"file, no edit":    {reason: "nobody asked for it", method: "PUT", path: "/dev/v1/files/sync.js", body: "text", code: 404},
		"file elsewhere":   {reason: "it is not of the folder", edit: true, method: "PUT", path: "/dev/v1/files/..%2Fsync.js", body: "text", code: 400},
		"file by a link":   {reason: "nor is what a link leads to", edit: true, method: "PUT", path: "/dev/v1/files/out/sync.js", body: "text", code: 500},
		"hidden file":      {reason: "nor what tools have there", edit: true, method: "PUT", path: "/dev/v1/files/.git/config", body: "text", code: 400},
		"tests":            {reason: "they run again", method: "POST", path: "/dev/v1/tests", code: 200},
		"nothing to write": {reason: "reading has no body", method: "POST", path: "/dev/v1/meta", code: 404},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			s := newTestServer(t, c.live, c.edit)
			if err := os.Symlink(t.TempDir(), filepath.Join(s.root, "out")); err != nil {
				t.Fatal(err)
			}
			if c.method == "" {
				c.method = http.MethodGet
			}
			if c.host == "" {
				c.host = "localhost:8001"
			}
			request := httptest.NewRequestWithContext(t.Context(), c.method, c.path, strings.NewReader(c.body))
			request.Host = c.host
			if c.origin != "" {
				request.Header.Set("Origin", c.origin)
			}
			response := httptest.NewRecorder()
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // A stream ends after what is.
			s.handler().ServeHTTP(response, request.WithContext(ctx))
			if response.Code != c.code || !strings.Contains(response.Body.String(), c.answer) {
				t.Errorf("%d %s, want %d %s", response.Code, response.Body, c.code, c.answer)
			}
			if text, err := os.ReadFile(filepath.Join(s.root, "lib", "sync.js")); (err == nil) != (name == "file") || err == nil && string(text) != "text" {
				t.Errorf("the file: %q, %v", text, err)
			}
		})
	}
}

// TestReadOnly checks what reaches a cluster that is not this command's.
func TestReadOnly(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer own" {
			t.Errorf("Authorization: %q", r.Header.Get("Authorization"))
		}
		_, _ = io.WriteString(w, r.URL.String())
	}))
	defer api.Close()
	handler, err := readOnly(&rest.Config{Host: api.URL + "/prefix", BearerToken: "own"})
	if err != nil {
		t.Fatal(err)
	}
	for request, want := range map[string]string{
		"GET /api/v1/namespaces/a/events?limit=5": "/prefix/api/v1/namespaces/a/events?limit=5",
		"GET /version": "/prefix/version",
		"GET /apis/apps/v1/controllerrevisions?labelSelector=metacontroller.k8s.io%2Fscripts-of%3Da-b": "/prefix/apis/apps/v1/controllerrevisions?" +
			"labelSelector=metacontroller.k8s.io%2Fscripts-of%3Da-b",
		"GET /apis/apps/v1/controllerrevisions": "",
		"GET /apis/apps/v1/controllerrevisions?labelSelector=metacontroller.k8s.io%2Fscripts-of%3Da&labelSelector=": "",
		"GET /api/v1/namespaces/a/secrets/s":       "",
		"GET /api/v1/namespaces/a/events/../pods":  "",
		"POST /api/v1/namespaces/a/events":         "",
		"DELETE /apis/apps/v1/namespaces/a/events": "",
	} {
		method, path, _ := strings.Cut(request, " ")
		sent := httptest.NewRequestWithContext(t.Context(), method, path, nil)
		sent.Header.Set("Authorization", "Bearer of the page")
		response := httptest.NewRecorder()
		handler.ServeHTTP(response, sent)
		if code := response.Code; (code == http.StatusOK) != (want != "") || want != "" && response.Body.String() != want {
			t.Errorf("%s: %d %s, want %q", request, code, response.Body, want)
		}
	}
}

// TestListen takes a port that is taken, and gets the next one.
func TestListen(t *testing.T) {
	taken, err := listen(t.Context(), 18001)
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := taken.Addr().(*net.TCPAddr).Port
	next, err := listen(t.Context(), port)
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if got := next.Addr().(*net.TCPAddr); got.Port <= port || !got.IP.IsLoopback() {
		t.Errorf("%s, want a port of this machine after %d", got, port)
	}
}
