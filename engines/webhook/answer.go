package webhook

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

// shownBytes is how much of a body becomes part of a message.
const shownBytes = 1 << 10

// refusal is the error of a response with any status but 200.
func refusal(response *http.Response, now time.Time) *engines.Error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, shownBytes+1))
	e := failed("answered %s: %s", response.Status, excerpt(text))
	if len(text) == 0 {
		e = failed("answered %s with an empty body", response.Status)
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.RetryAfter = engines.RetryAfter(response.Header.Get("Retry-After"), now)
	}
	return e
}

// decode reads JSON of any type, with whole numbers as int64.
func decode(text []byte) (any, error) {
	var body any
	err := utiljson.Unmarshal(text, &body)
	if err == nil {
		return body, nil
	}
	return nil, &engines.Error{Kind: engines.BadResponse, Message: complaint(text, err), Err: err}
}

// complaint says why a body is not JSON, as a person would on seeing it.
func complaint(text []byte, err error) string {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return "the response has an empty body, not JSON"
	case trimmed[0] == '<':
		return "the response looks like HTML, not JSON: does the URL lead to the hook? It starts with: " + excerpt(trimmed)
	case strings.Contains(err.Error(), "unexpected end of JSON"):
		return fmt.Sprintf("the response's JSON breaks off after %d bytes: %v", len(trimmed), err)
	default:
		return fmt.Sprintf("the response is not JSON: %v. It starts with: %s", err, excerpt(trimmed))
	}
}

func excerpt(text []byte) string {
	if len(text) <= shownBytes {
		return strings.ToValidUTF8(string(text), "")
	}
	return strings.ToValidUTF8(string(text[:shownBytes]), "") + "..."
}
