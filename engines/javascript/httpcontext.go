package javascript

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/libretto-k8s/libretto/engines"
)

// runContext calls a function that was written for metacontroller's Node.js
// server: it takes {request: {body}} and returns {status, body, headers}.
func (p *program) runContext(i *realm, call engines.Call) (any, error) {
	request, argument := i.rt.NewObject(), i.rt.NewObject()
	body := i.requestView(p.script.WithParameters(call.Request))
	if err := errors.Join(request.Set("body", body), argument.Set("request", request)); err != nil {
		return nil, err
	}
	result, err := i.answer(argument)
	if err != nil {
		return nil, err
	}
	reply, ok := result.(map[string]any)
	if !ok {
		return nil, &engines.Error{Kind: engines.BadResponse,
			Message: "the function gave back " + engines.Truncate(jsonText(result), maxShownBytes) + ", not {status, body}"}
	}
	if err := statusError(reply, call.Now); err != nil {
		return nil, err
	}
	return replyBody(reply)
}

// statusError returns the error of a reply whose status is not 200. No status is 200.
func statusError(reply map[string]any, now time.Time) error {
	status, given := reply["status"]
	if !given || status == int64(http.StatusOK) {
		return nil
	}
	e := &engines.Error{Kind: engines.Failed,
		Message: fmt.Sprintf("answered status %s: %s", jsonText(status), engines.Truncate(jsonText(reply["body"]), maxShownBytes))}
	if status == int64(http.StatusTooManyRequests) || status == int64(http.StatusServiceUnavailable) {
		e.RetryAfter = engines.RetryAfter(header(reply, "Retry-After"), now)
	}
	return e
}

func header(reply map[string]any, name string) string {
	headers, _ := reply["headers"].(map[string]any)
	for key, value := range headers {
		if strings.EqualFold(key, name) {
			return jsonText(value)
		}
	}
	return ""
}

// replyBody returns the response. A string is parsed as JSON, because that server sent it unchanged.
func replyBody(reply map[string]any) (any, error) {
	body, written := reply["body"].(string)
	if !written {
		return reply["body"], nil
	}
	var response any
	if err := utiljson.Unmarshal([]byte(body), &response); err != nil {
		return nil, &engines.Error{Kind: engines.BadResponse, Message: "body: is a string that is not JSON: " + err.Error(), Err: err}
	}
	return response, nil
}
