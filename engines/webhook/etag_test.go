package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// step is one call and how the server answers it.
type step struct {
	subject string
	after   time.Duration // since the first call
	status  int
	etag    string
	body    string
	sent    string // the If-None-Match that is expected
	want    any
	message string // of the error that is expected
}

func TestEtag(t *testing.T) {
	one, two := map[string]any{"n": int64(1)}, map[string]any{"n": int64(2)}
	cases := map[string]struct {
		reason   string
		settings engines.Etag
		steps    []step
	}{
		"304": {reason: "the answer is used again", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{status: 304, sent: `"a"`, want: one},
			{status: 304, sent: `"a"`, want: one},
		}},
		"412": {reason: "it means the same, to metacontroller", steps: []step{
			{status: 200, etag: `W/"a"`, body: `{"n":1}`, want: one},
			{status: 412, sent: `W/"a"`, want: one},
		}},
		"new answer": {reason: "it takes the place of the one before", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{status: 200, etag: `"b"`, body: `{"n":2}`, sent: `"a"`, want: two},
			{status: 304, sent: `"b"`, want: two},
		}},
		"no ETag": {reason: "what an ETag stood for, it stands for still", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{status: 200, body: `{"n":2}`, sent: `"a"`, want: two},
			{status: 304, sent: `"a"`, want: one},
		}},
		"unasked 304": {reason: "there is nothing that it could speak of", steps: []step{
			{status: 304, message: "it was not sent If-None-Match"},
			{status: 412, message: "it was not sent If-None-Match"},
		}},
		"other subject": {reason: "each map key, each revision has its own answer", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{subject: "other", status: 200, etag: `"b"`, body: `{"n":2}`, want: two},
			{status: 304, sent: `"a"`, want: one},
		}},
		"bad answer": {reason: "what could not be read is not used again", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":`, message: "breaks off"},
			{status: 200, etag: `"b"`, body: `{"n":1}`, want: one},
		}},
		"failure": {reason: "it changes nothing", steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{status: 500, sent: `"a"`, body: "boom", message: "boom"},
			{status: 304, sent: `"a"`, want: one},
		}},
		"expired": {reason: "cacheTimeoutSeconds is over", settings: engines.Etag{Expiry: time.Minute}, steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{after: time.Minute, status: 200, body: `{"n":2}`, want: two},
		}},
		"in use": {reason: "it counts from the last use", settings: engines.Etag{Expiry: time.Minute, Cleanup: time.Second}, steps: []step{
			{status: 200, etag: `"a"`, body: `{"n":1}`, want: one},
			{after: 40 * time.Second, status: 304, sent: `"a"`, want: one},
			{after: 80 * time.Second, status: 304, sent: `"a"`, want: one},
		}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			var now step
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if sent := r.Header.Get("If-None-Match"); sent != now.sent {
					t.Errorf("If-None-Match is %q, want %q", sent, now.sent)
				}
				if now.etag != "" {
					w.Header().Set("ETag", now.etag)
				}
				w.WriteHeader(now.status)
				fmt.Fprint(w, now.body)
			}))
			defer server.Close()
			program := compile(t, engines.Source{Hook: "sync", Endpoint: &engines.Endpoint{URL: server.URL, Etag: &c.settings}})
			for i, next := range c.steps {
				now = next
				got, failure := call(t, program, engines.Call{Seed: "uid", Subject: now.subject, Now: start.Add(now.after)})
				if diff := cmp.Diff(now.want, got); diff != "" {
					t.Errorf("call %d: answer (-want +got):\n%s", i, diff)
				}
				compareFailure(t, failure, kindOf(failure), now.message, 0)
			}
		})
	}
}

// kindOf makes compareFailure take any kind.
func kindOf(e *engines.Error) engines.Kind {
	if e == nil {
		return engines.Failed
	}
	return e.Kind
}

func TestWithoutEtagNothingIsRemembered(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if sent := r.Header.Get("If-None-Match"); sent != "" {
			t.Errorf("If-None-Match is %q", sent)
		}
		w.Header().Set("ETag", `"a"`)
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	program := compile(t, endpoint(server.URL))
	for range 2 {
		if _, failure := call(t, program, engines.Call{Seed: "uid"}); failure != nil {
			t.Fatal(failure)
		}
	}
}

// TestRememberedAnswersAreBounded checks that all endpoints of a definition share one budget.
func TestRememberedAnswersAreBounded(t *testing.T) {
	answers := lru.New(4 * (1000 + etagOverhead))
	sync, finalize := newEtagCache(engines.Etag{}, answers), newEtagCache(engines.Etag{}, answers)
	ask := func(seed string) engines.Call {
		return engines.Call{Seed: seed, Now: start, Owner: "CompositeController c"}
	}
	finalize.put(ask("0"), `"b"`, make([]byte, 1000))
	for i := range 10 {
		sync.put(ask(fmt.Sprint(i)), `"a"`, make([]byte, 1000))
		sync.get(ask("0"))
	}
	var kept []string
	for _, seed := range []string{"0", "1", "6", "7", "8", "9"} {
		if sync.get(ask(seed)) != nil {
			kept = append(kept, seed)
		}
	}
	if diff := cmp.Diff([]string{"0", "7", "8", "9"}, kept); diff != "" {
		t.Errorf("the longest unused make room (-want +got):\n%s", diff)
	}
	if finalize.get(ask("0")) != nil {
		t.Error("the answer of the other endpoint is unused for the longest time, and kept")
	}
	answers.DeleteOwner("CompositeController c")
	if sync.get(ask("0")) != nil {
		t.Error("an answer for a deleted definition is kept")
	}
}

func TestCleanup(t *testing.T) {
	answers := lru.New(1 << 20)
	a := newEtagCache(engines.Etag{Expiry: time.Minute, Cleanup: time.Hour}, answers)
	a.get(engines.Call{Seed: "first", Now: start})
	for i := range 3 {
		a.put(engines.Call{Seed: fmt.Sprint(i), Now: start}, `"a"`, make([]byte, 10))
	}
	a.get(engines.Call{Seed: "other", Now: start.Add(30 * time.Minute)})
	if got := answers.Len("", a); got != 3 {
		t.Errorf("%d answers before it is time to remove any, want 3", got)
	}
	a.get(engines.Call{Seed: "other", Now: start.Add(time.Hour)})
	if got := answers.Len("", a); got != 0 || answers.Usage()[""].Bytes != 0 {
		t.Errorf("%d answers are left, of %d bytes, want none", got, answers.Usage()[""].Bytes)
	}
}
