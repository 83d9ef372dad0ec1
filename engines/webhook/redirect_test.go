package webhook

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestRedirects(t *testing.T) {
	stranger := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the request went to another server")
	}))
	defer stranger.Close()
	cases := map[string]struct {
		reason  string
		status  int
		to      string
		message string
	}{
		"same server":    {reason: "308 repeats the request elsewhere on the same server", status: 308, to: "/answer"},
		"another server": {reason: "what a request holds is not for others", status: 307, to: stranger.URL, message: "redirected to another server"},
		"as GET":         {reason: "302 would drop the request", status: 302, to: "/answer", message: "answer 307 or 308"},
		"in circles":     {reason: "a loop ends", status: 307, to: "/", message: "more than 5 redirects"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			got, failure := ask(t, func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/answer" {
					http.Redirect(w, r, c.to, c.status)
					return
				}
				fmt.Fprint(w, `"answered"`)
			})
			compareFailure(t, failure, engines.Failed, c.message, 0)
			if c.message == "" {
				if diff := cmp.Diff(any("answered"), got); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestConnectionsAreReused(t *testing.T) {
	addresses := map[string]bool{}
	handler := func(w http.ResponseWriter, r *http.Request) {
		addresses[r.RemoteAddr] = true
		fmt.Fprint(w, "{}   ")
	}
	server := httptest.NewServer(http.HandlerFunc(handler))
	defer server.Close()
	engine, _ := Definition().New(engines.Config{})
	program, err := engine.Compile(t.Context(), endpoint(server.URL))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := program.Run(t.Context(), engines.Call{Request: map[string]any{}}); err != nil {
			t.Fatal(err)
		}
	}
	if len(addresses) != 1 {
		t.Errorf("five calls used %d connections, want one", len(addresses))
	}
}

func TestCompile(t *testing.T) {
	engine, _ := Definition().New(engines.Config{})
	for url, reason := range map[string]string{
		"":                     "nothing to call",
		"sync":                 "no server",
		"example.com/sync":     "no scheme",
		"ftp://example.com":    "no HTTP",
		"http://":              "no host",
		"http://exa mple.com/": "no URL",
	} {
		if _, err := engine.Compile(t.Context(), endpoint(url)); err == nil || engines.KindOf(err) != engines.Invalid {
			t.Errorf("%q (%s): error %v, want one of kind Invalid", url, reason, err)
		}
	}
}
