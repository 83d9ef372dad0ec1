package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/libretto-k8s/libretto/engines"
)

// start is the time of the calls of tests.
var start = time.Date(2026, 10, 3, 12, 0, 0, 0, time.UTC)

// ask calls a server once, with a response limit of 2000 bytes.
func ask(t *testing.T, handler http.HandlerFunc) (any, *engines.Error) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return askURL(t, server.URL)
}

func askURL(t *testing.T, url string) (any, *engines.Error) {
	t.Helper()
	program := compile(t, engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: url, MaxResponseBytes: 2000}})
	return call(t, program, engines.Call{Request: map[string]any{"a": int64(1)}, Now: start})
}

// compile starts an engine of its own for one endpoint.
func compile(tb testing.TB, src engines.Source) engines.Program {
	tb.Helper()
	engine, err := Definition().New(engines.Config{UserAgent: "libretto/test"})
	if err != nil {
		tb.Fatal(err)
	}
	program, err := engine.Compile(tb.Context(), src)
	if err != nil {
		tb.Fatal(err)
	}
	return program
}

// call returns the answer, or the engine's error.
func call(t *testing.T, program engines.Program, c engines.Call) (any, *engines.Error) {
	t.Helper()
	response, err := program.Run(t.Context(), c)
	return response.Body, asError(t, err)
}

func asError(t *testing.T, err error) *engines.Error {
	t.Helper()
	var e *engines.Error
	if err != nil && !errors.As(err, &e) {
		t.Fatalf("error %v is no *engines.Error", err)
	}
	return e
}

func TestRequest(t *testing.T) {
	var got http.Header
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got = r.Header
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	response, err := compile(t, endpoint(server.URL+"/sync?a=b")).Run(t.Context(), engines.Call{Request: map[string]any{"a": int64(1)}})
	if err != nil {
		t.Fatal(err)
	}
	id := got.Get("X-Request-Id")
	want := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "User-Agent": {"libretto/test"},
		"Accept-Encoding": {"gzip"}, "Content-Length": {"7"}, "X-Request-Id": {id},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if string(body) != `{"a":1}` {
		t.Errorf("body %s", body)
	}
	if log := strings.Join(response.Logs, ""); len(id) != 16 || !strings.Contains(log, "request "+id+" to "+server.URL+"/sync: answered 200 OK after ") {
		t.Errorf("the id %q is not in the log %q", id, log)
	}
}

func TestFailureNamesPlaceAndRequest(t *testing.T) {
	var id string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id = r.Header.Get("X-Request-Id")
		http.Error(w, "boom", http.StatusInternalServerError)
	}))
	defer server.Close()
	_, failure := askURL(t, server.URL+"/sync")
	want := server.URL + "/sync: answered 500 Internal Server Error: boom"
	if diff := cmp.Diff([]string{want, "request " + id}, []string{failure.Error(), strings.Join(failure.Stack, "")}); diff != "" {
		t.Errorf("message and stack (-want +got):\n%s", diff)
	}
}

func TestAnswers(t *testing.T) {
	cases := map[string]struct {
		reason  string
		header  string
		status  int
		body    string
		want    any
		kind    engines.Kind
		message string
		after   time.Duration
	}{
		"object":       {reason: "200 with JSON is an answer", status: 200, body: `{"a":1,"b":1.5}`, want: map[string]any{"a": int64(1), "b": 1.5}},
		"null":         {reason: "null is an answer, to be judged by the caller", status: 200, body: "null\n"},
		"created":      {reason: "only 200 is success", status: 201, body: `{}`, kind: engines.Failed, message: "answered 201 Created: {}"},
		"no content":   {reason: "only 200 is success", status: 204, kind: engines.Failed, message: "answered 204 No Content with an empty body"},
		"error":        {reason: "the message holds what the server said", status: 500, body: "boom", kind: engines.Failed, message: "answered 500 Internal Server Error: boom"},
		"long error":   {reason: "but not all of it", status: 500, body: strings.Repeat("x", 5000), kind: engines.Failed, message: strings.Repeat("x", 1024) + "..."},
		"busy":         {reason: "Retry-After in seconds", status: 429, header: "7", kind: engines.Failed, message: "429", after: 7 * time.Second},
		"busy until":   {reason: "Retry-After as a date", status: 429, header: "Sat, 03 Oct 2026 12:01:00 GMT", kind: engines.Failed, message: "429", after: time.Minute},
		"busy, past":   {reason: "a date in the past leaves it to the caller's backoff", status: 429, header: "Sat, 03 Oct 2026 11:00:00 GMT", kind: engines.Failed, message: "429"},
		"busy, silent": {reason: "no header leaves it to the caller's backoff", status: 429, kind: engines.Failed, message: "429"},
		"unavailable":  {reason: "503 says it the same way", status: 503, header: "3", kind: engines.Failed, message: "503", after: 3 * time.Second},
		"not busy":     {reason: "other statuses do not", status: 500, header: "3", kind: engines.Failed, message: "500"},
		"empty":        {reason: "an empty body is not null", status: 200, kind: engines.BadResponse, message: "empty body"},
		"html":         {reason: "a login page is a common mistake", status: 200, body: "<!doctype html><title>Sign in</title>", kind: engines.BadResponse, message: "looks like HTML"},
		"half":         {reason: "half of an answer is none", status: 200, body: `{"children":[{"a":`, kind: engines.BadResponse, message: "breaks off after 18 bytes"},
		"text":         {reason: "the message has the place", status: 200, body: "not found", kind: engines.BadResponse, message: "at byte 2: its start is in the host's log"},
		"page":         {reason: "a page may show all of the request", status: 500, body: "<html>x", kind: engines.Failed, message: "answered 500 Internal Server Error with a page of HTML"},
		"two":          {reason: "two answers are none", status: 200, body: "{} {}", kind: engines.BadResponse, message: "not JSON"},
		"large":        {reason: "memory is bounded", status: 200, body: `"` + strings.Repeat("x", 2000) + `"`, kind: engines.Exhausted, message: "larger than 2000 bytes"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, failure := ask(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.header)
				w.WriteHeader(c.status)
				fmt.Fprint(w, c.body)
			})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			compareFailure(t, failure, c.kind, c.message, c.after)
		})
	}
}

// compareFailure checks the kind, a part of the message and RetryAfter. No message means no failure.
func compareFailure(t *testing.T, got *engines.Error, kind engines.Kind, message string, after time.Duration) {
	t.Helper()
	if message == "" || got == nil {
		if got != nil || message != "" {
			t.Errorf("error %v, want one that says %q", got, message)
		}
		return
	}
	want := &engines.Error{Kind: kind, RetryAfter: after}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(engines.Error{}, "Message", "Stack", "Err")); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	if !strings.Contains(got.Message, message) {
		t.Errorf("message %q does not say %q", got.Message, message)
	}
}

func TestNobodyThere(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	_, failure := askURL(t, server.URL)
	compareFailure(t, failure, engines.Failed, "connection refused", 0)
}
