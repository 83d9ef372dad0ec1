package javascript

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// TestNoContext checks the error of a function that expects a context and gets the request.
func TestNoContext(t *testing.T) {
	src := script("module.exports = async function (context) {\n  let observed = context.request.body; return observed }")
	_, failure := run(t, src, map[string]any{}, time.Minute)
	const want = "sync.js:2:34: TypeError: Cannot read property 'body' of undefined: the function is given the request itself: for context.request.body set script.signature of this hook to HTTPContext"
	if failure == nil || failure.Error() != want {
		t.Errorf("error\n%v, want\n%s", failure, want)
	}
}

func TestHTTPContext(t *testing.T) {
	cases := map[string]struct {
		reason, reply string
		want          any
		kind          engines.Kind
		message       string
		after         time.Duration
	}{
		"answer":      {reason: "the body is the response", reply: `{status: 200, body: {got: context.request.body}}`, want: map[string]any{"got": map[string]any{"a": int64(1)}}},
		"no status":   {reason: "none is 200", reply: `{body: {}, headers: {'Content-Type': 'application/json'}}`, want: map[string]any{}},
		"text":        {reason: "that server sent text as it was", reply: `{status: 200, body: JSON.stringify({n: 1})}`, want: map[string]any{"n": int64(1)}},
		"null":        {reason: "null is an answer", reply: `{status: 200, body: null}`},
		"error":       {reason: "the message holds what the function said", reply: `{status: 500, body: 'boom'}`, kind: engines.Failed, message: "answered status 500: boom"},
		"error data":  {reason: "the message holds what the function said", reply: `{status: 422, body: {why: 'x'}}`, kind: engines.Failed, message: `answered status 422: {"why":"x"}`},
		"busy":        {reason: "as the webhook's header", reply: `{status: 429, headers: {'retry-after': '7'}}`, kind: engines.Failed, message: "answered status 429", after: 7 * time.Second},
		"busy until":  {reason: "as the webhook's header", reply: `{status: 503, headers: {'Retry-After': 'Sat, 03 Oct 2026 12:00:30 GMT'}}`, kind: engines.Failed, message: "answered status 503", after: 30 * time.Second},
		"busy number": {reason: "JavaScript has no types to speak of", reply: `{status: 429, headers: {'Retry-After': 7}}`, kind: engines.Failed, message: "answered status 429", after: 7 * time.Second},
		"no reply":    {reason: "the signature is another one", reply: `[1]`, kind: engines.BadResponse, message: "the function gave back [1], not {status, body}"},
		"not JSON":    {reason: "text must be JSON", reply: `{status: 200, body: '<html>'}`, kind: engines.BadResponse, message: "body: is a string that is not JSON"},
		"thrown":      {reason: "a throw is a failure", reply: `(() => { throw new Error('boom') })()`, kind: engines.Failed, message: "boom"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			src := script("module.exports = async function (context) { return " + c.reply + " }")
			src.Script.Signature = engines.HTTPContext
			response, failure := run(t, src, map[string]any{"a": int64(1)}, time.Minute)
			if diff := cmp.Diff(c.want, response.Body); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
			if failure == nil && c.message == "" {
				return
			}
			if failure == nil || failure.Kind != c.kind || !strings.Contains(failure.Message, c.message) || failure.RetryAfter != c.after {
				t.Errorf("error %+v, want one of kind %s that says %q, to be retried after %v", failure, c.kind.Reason(), c.message, c.after)
			}
		})
	}
}
