package webhook

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/engines"
)

// TestMessagesTellNoSecret checks that messages, which end up in the status of parents, have neither the
// credentials that a server repeats, nor what it was sent, nor what it answered.
func TestMessagesTellNoSecret(t *testing.T) {
	const canary, answer = "canary!", `{"children":[{"apiVersion":"v1","kind":"Secret","stringData":{"a":"canary!"}}]`
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, r.Header.Get("Authorization"), r.URL.RawQuery, r.URL.Query().Get("token"))
	}
	say := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			fmt.Fprint(w, body)
		}
	}
	cases := map[string]struct {
		reason        string
		serve         http.HandlerFunc
		user          string // of the URL
		authorization string
		shown, logged string // in message and stack
	}{
		"bearer":          {"a server that shows the headers", echo, "", "Bearer " + canary, "400 Bad Request: Bearer (hidden) (hidden)", ""},
		"basic":           {"which is base64", echo, "", "Basic bWU6Y2FuYXJ5IQ==", "Basic (hidden)", ""},
		"user in URL":     {"which Go sends as basic authorization", echo, "me:" + canary + "@", "", "Basic (hidden)", ""},
		"cut":             {"the limit cuts a token in two", say(400, strings.Repeat("x", maxExcerptBytes-3)+canary), "", "Bearer " + canary, "x(hi...", ""},
		"page":            {"a page of a framework shows the request", say(500, "<pre>the request</pre>"), "", "", "a page of HTML", "the request"},
		"page, mistaken":  {"a page in place of an answer", say(200, "<pre>the request</pre>"), "", "", "looks like HTML", "the request"},
		"text":            {"no answer", say(200, "the request"), "", "", "not JSON", "the request"},
		"answer, broken":  {"an answer with a comma too many is not even logged", say(200, answer+",,}"), "", "", "is not JSON", "request"},
		"answer, cut off": {"nor is half of one", say(200, answer), "", "", "breaks off", "request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			server := httptest.NewServer(c.serve)
			defer server.Close()
			access := &engines.Access{Authorization: c.authorization}
			endpoint := &engines.Endpoint{
				URL:    strings.Replace(server.URL, "://", "://"+c.user, 1) + "/?token=" + canary,
				Access: func() (*engines.Access, error) { return access, nil },
			}
			_, err := compile(t, engines.Source{Endpoint: endpoint}).Run(t.Context(), engines.Call{Request: map[string]any{}})
			failure := asError(t, err)
			message := failure.Error()
			if strings.Contains(message, "canary") || strings.Contains(message, "the request") || !strings.Contains(message, c.shown) {
				t.Errorf("message %q, want one that says %q and not what is secret", message, c.shown)
			}
			stack := strings.Join(failure.Stack, "\n")
			if strings.Contains(stack, "canary") || !strings.Contains(stack, c.logged) {
				t.Errorf("stack %q, want one with %q", stack, c.logged)
			}
		})
	}
}

func TestInvalidAddressesAreNotQuoted(t *testing.T) {
	e, err := Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{"http://me:canary@host:port/", "ftp://me:canary@host/?token=canary", "http://me:canary@ho st/"} {
		if _, err := e.Compile(t.Context(), engines.Source{Endpoint: &engines.Endpoint{URL: address}}); err == nil || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: error %v, want one without the password", address, err)
		}
	}
	find := hidingProxy(func(*http.Request) (*url.URL, error) {
		return nil, errors.New(`invalid proxy address "http://me:canary@:x"`)
	})
	if _, err := find(nil); err == nil || strings.Contains(err.Error(), "canary") {
		t.Errorf("error %v, want one without the password", err)
	}
}
