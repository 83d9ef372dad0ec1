package webhook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"sigs.k8s.io/json"

	"github.com/libretto-k8s/libretto/engines"
)

// maxExcerptBytes is how much of a body becomes part of a message.
const maxExcerptBytes = 1 << 10

// statusError returns the error of a response with any status but 200.
func statusError(response *http.Response, now time.Time) *engines.Error {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxExcerptBytes+1))
	way := statusHint(response.StatusCode)
	e := failed("answered %s: %s%s", response.Status, engines.Truncate(string(text), maxExcerptBytes), way)
	if len(text) == 0 {
		e = failed("answered %s with an empty body%s", response.Status, way)
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		e.RetryAfter = engines.RetryAfter(response.Header.Get("Retry-After"), now)
	}
	return e
}

// decode reads JSON of any type, with whole numbers as int64. Of a field that is
// there twice the last one counts, unless that is refused. What would take too much
// memory is not decoded.
func decode(text []byte, refuseDoubled bool) (any, error) {
	if err := checkMemory(text); err != nil {
		return nil, err
	}
	var body any
	var doubled []error
	var err error
	if refuseDoubled {
		doubled, err = json.UnmarshalStrict(text, &body, json.DisallowDuplicateFields)
	} else {
		err = json.UnmarshalCaseSensitivePreserveInts(text, &body)
	}
	if err != nil {
		return nil, &engines.Error{Kind: engines.BadResponse, Message: invalidJSON(text, err), Err: err}
	}
	for _, field := range doubled {
		if !isWithinObject(field) {
			return nil, &engines.Error{Kind: engines.BadResponse, Message: fmt.Sprintf(
				"the response has a %v: write it once, or set responseUnMarshallMode: loose, by which the last one counts", field)}
		}
	}
	return body, nil
}

// isWithinObject reports whether a doubled field is inside of an object that the hook
// wants to be there. Metacontroller has never looked into these.
func isWithinObject(doubled error) bool {
	var field json.FieldError
	return errors.As(doubled, &field) && objectField.MatchString(field.FieldPath())
}

var objectField = regexp.MustCompile(`^(children|attachments|outputs)\[`)

// invalidJSON returns a message that explains why a body is not JSON.
func invalidJSON(text []byte, err error) string {
	trimmed := bytes.TrimSpace(text)
	switch {
	case len(trimmed) == 0:
		return "the response has an empty body, not JSON"
	case trimmed[0] == '<':
		return "the response looks like HTML, not JSON: does the URL lead to the hook? It starts with: " +
			engines.Truncate(string(trimmed), maxExcerptBytes)
	case strings.Contains(err.Error(), "unexpected end of JSON"):
		return fmt.Sprintf("the response's JSON breaks off after %d bytes: %v", len(trimmed), err)
	default:
		return fmt.Sprintf("the response is not JSON: %v. It starts with: %s", err, engines.Truncate(string(trimmed), maxExcerptBytes))
	}
}
