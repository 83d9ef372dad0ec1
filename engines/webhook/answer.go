package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"sigs.k8s.io/json"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// maxExcerptBytes is how much of a body becomes part of a message.
const maxExcerptBytes = 1 << 10

// statusError returns the error of a response with any status but 200. Its body is the server's message,
// unless it is a page: a page may show all of the request. secrets are what the request was sent with.
func statusError(response *http.Response, secrets []string, now time.Time) *engines.Error {
	const enoughToMask = 16 << 10 // Of a secret that the excerpt would cut in two.
	body, _ := io.ReadAll(io.LimitReader(response.Body, maxExcerptBytes+enoughToMask))
	text := excerpt(jsonvalue.Mask(string(body), secrets))
	way := statusHint(response.StatusCode)
	e := failed("answered %s: %s%s", response.Status, text, way)
	switch {
	case text == "":
		e = failed("answered %s with an empty body%s", response.Status, way)
	case isPage(text):
		e = failed("answered %s with a page of HTML, whose start is in the host's log%s", response.Status, way)
		e.Stack = bodyInLog(text)
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.RetryAfter = engines.RetryAfter(response.Header.Get("Retry-After"), now)
	}
	return e
}

// excerpt returns the start of a body.
func excerpt(body string) string { return engines.Truncate(strings.TrimSpace(body), maxExcerptBytes) }

// isPage reports whether a body is HTML or XML.
func isPage(body string) bool { return strings.HasPrefix(body, "<") }

// bodyInLog returns the lines of a stack that show the start of a body. The stack is logged, and no part of
// the message, which users may read who may not read what the hook was sent.
func bodyInLog(text string) []string { return []string{"the body starts with: " + text} }

// decode reads JSON of any type, with whole numbers as int64. Of a field that is
// there twice the last one counts, unless that is refused. What would take too much
// memory is not decoded.
func decode(text []byte, refuseDoubled bool) (any, error) {
	if err := checkMemory(text); err != nil {
		return nil, err
	}
	body, doubled, err := unmarshal(text, refuseDoubled)
	if err != nil {
		return nil, invalidJSON(text, err)
	}
	if path, refused := firstDoubled(text, doubled); refused {
		return nil, &engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(
			"the response has a duplicate field %q: write it once, or set responseUnMarshallMode: loose, by which the last one counts",
			engines.Truncate(path, maxPathBytes))}
	}
	return body, nil
}

// invalidJSON returns an error that explains why a body is not JSON. What begins like an answer is not
// quoted: it may be one that holds a Secret, but for a comma.
func invalidJSON(body []byte, err error) *engines.Error {
	trimmed := bytes.TrimSpace(body)
	text := excerpt(string(trimmed[:min(len(trimmed), 2*maxExcerptBytes)]))
	e := &engines.Error{Kind: engines.BadResponse, Err: err}
	switch {
	case len(trimmed) == 0:
		e.Message = "the response has an empty body, not JSON"
	case isPage(text):
		e.Message = "the response looks like HTML, not JSON: does the URL lead to the hook? Its start is in the host's log"
		e.Stack = bodyInLog(text)
	case strings.Contains(err.Error(), "unexpected end of JSON"):
		e.Message = fmt.Sprintf("the response's JSON breaks off after %d bytes: %v", len(trimmed), err)
	case strings.IndexByte(`{["`, trimmed[0]) >= 0:
		e.Message = fmt.Sprintf("the response is not JSON: %v", at(err))
	default:
		e.Message = fmt.Sprintf("the response is not JSON: %v: its start is in the host's log", at(err))
		e.Stack = bodyInLog(text)
	}
	return e
}

// at returns an error of reading JSON with the place in the body.
func at(err error) error {
	if ok, offset := json.SyntaxErrorOffset(err); ok {
		return fmt.Errorf("%w at byte %d", err, offset)
	}
	return err
}
