package webhook

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"syscall"

	semconv "go.opentelemetry.io/otel/semconv/v1.39.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// exchange is one call and its result.
type exchange struct {
	*program
	call engines.Call
	id   string
	// cached is the entry whose ETag is sent in If-None-Match, or nil.
	cached *etagEntry
	// status is what the far side answered last, or "".
	status string
	// reused is true if the connection of the last attempt had served before.
	reused bool
}

// outcome returns the result for the log.
func (x *exchange) outcome(err error) string {
	switch {
	case x.status != "" && err != nil:
		return "answered " + x.status + ", which is a failure"
	case x.status != "":
		return "answered " + x.status
	default:
		return "failed"
	}
}

// maxDeadConnections is how many connections that turn out to be dead a call may try.
const maxDeadConnections = 3

// run asks once, and again only where the failure need not be the server's: if the
// credentials were replaced while the call was under way, or if the connection had
// served before and turned out to be dead.
func (x *exchange) run(ctx context.Context) (any, error) {
	body, err := x.encode()
	if err != nil {
		return nil, err
	}
	defer body.release()
	if x.etagCache != nil {
		x.cached = x.etagCache.get(x.call)
	}
	for stale := 0; ; {
		access, err := x.access()
		if err != nil {
			return nil, err
		}
		answer, err := x.ask(ctx, access, body)
		switch {
		case err == nil || ctx.Err() != nil:
			return answer, err
		case stale < maxDeadConnections && x.reused && isConnectionLost(err):
			stale++
		case x.accessReplaced(access): // Once for each time, and never past the deadline.
		default:
			return nil, err
		}
	}
}

// isConnectionLost reports whether the connection was lost before the server could answer.
func isConnectionLost(err error) bool {
	return isReset(err) || errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF)
}

// isReset reports whether the server ended the connection while it was in use.
func isReset(err error) bool {
	return errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET)
}

// accessReplaced reports whether the credentials have changed since.
func (x *exchange) accessReplaced(used *engines.Access) bool {
	now, err := x.access()
	return err == nil && now != used
}

func (x *exchange) ask(ctx context.Context, access *engines.Access, body *payload) (any, error) {
	x.status, x.reused = "", false
	ctx, span := tracing.Start(ctx, tracing.WebhookCall, trace.SpanKindClient)
	defer span.End()
	response, err := x.client(access.TLS).Do(x.request(ctx, access, body)) //nolint:bodyclose // By drain.
	x.trace(span, response, err)
	if err != nil {
		return nil, unreachable(err)
	}
	defer drain(response.Body)
	x.reused = false // It has answered.
	x.status = response.Status
	switch {
	case response.StatusCode == http.StatusOK:
		return x.read(ctx, response)
	case x.cached != nil && (response.StatusCode == http.StatusNotModified || response.StatusCode == http.StatusPreconditionFailed):
		return x.decode(ctx, x.cached.text)
	default:
		return nil, statusError(response, x.secrets(access), x.call.Now)
	}
}

func (x *exchange) request(ctx context.Context, access *engines.Access, body *payload) *http.Request {
	header := http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json"}, "X-Request-Id": {x.id},
		// Without a value it is not sent. It means that a hook may be asked twice, so
		// that a connection which the server has just given up is no failure.
		"Idempotency-Key": {},
	}
	if x.engine.userAgent != "" {
		header.Set("User-Agent", x.engine.userAgent)
	}
	if access.Authorization != "" {
		header.Set("Authorization", access.Authorization)
	}
	tracing.Inject(ctx, header)
	if x.cached != nil {
		header.Set("If-None-Match", x.cached.etag)
	}
	request := &http.Request{
		Method: http.MethodPost, URL: x.url, Host: x.url.Host, Header: header, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		ContentLength: int64(len(body.text)), Body: body.open(),
		GetBody: func() (io.ReadCloser, error) { return body.open(), nil },
	}
	return request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { x.reused = info.Reused },
	}))
}

// trace notes in the span of an attempt what was asked, without secrets, and how it ended.
func (x *exchange) trace(span trace.Span, response *http.Response, err error) {
	if !span.IsRecording() {
		return
	}
	span.SetAttributes(semconv.HTTPRequestMethodPost, semconv.URLFull(x.displayURL), semconv.ServerAddress(x.url.Hostname()))
	tracing.EndHTTP(span, response, err)
}

// secrets returns what a request was sent with that no message may repeat: the credentials, and the parts
// of the URL that displayURL leaves out.
func (x *exchange) secrets(access *engines.Access) []string {
	_, credentials, _ := strings.Cut(access.Authorization, " ")
	secrets := []string{credentials, x.url.RawQuery}
	for _, values := range x.url.Query() {
		secrets = append(secrets, values...)
	}
	if user := x.url.User; user != nil {
		password, _ := user.Password()
		secrets = append(secrets, password, base64.StdEncoding.EncodeToString([]byte(user.Username()+":"+password)))
	}
	if plain, err := base64.StdEncoding.DecodeString(credentials); err == nil {
		_, password, _ := strings.Cut(string(plain), ":")
		secrets = append(secrets, string(plain), password)
	}
	return secrets
}

// read returns the answer in a response with status 200.
func (x *exchange) read(ctx context.Context, response *http.Response) (any, error) {
	text, err := x.body(response)
	if err != nil {
		return nil, err
	}
	answer, err := x.decode(ctx, text)
	if err == nil && x.etagCache != nil {
		x.etagCache.put(x.call, response.Header.Get("Etag"), text)
	}
	return answer, err
}

// body reads the whole body, unless it is larger than the limit.
func (x *exchange) body(response *http.Response) ([]byte, error) {
	tooLarge := &engines.Error{Kind: engines.Exhausted, Message: fmt.Sprintf("the response is larger than %d bytes", x.limit)}
	if response.ContentLength > x.limit {
		return nil, tooLarge
	}
	expected := response.ContentLength
	if expected < 0 {
		expected = min(x.lastSize.Load(), x.limit)
	}
	text := bytes.NewBuffer(make([]byte, 0, expected+bytes.MinRead))
	n, err := text.ReadFrom(io.LimitReader(response.Body, x.limit+1))
	x.lastSize.Store(n)
	switch {
	case err != nil:
		return nil, &engines.Error{Kind: engines.BadResponse, Err: err,
			Message: fmt.Sprintf("the response ended after %s, before its end: %v", count(n), err)}
	case n > x.limit:
		return nil, tooLarge
	}
	return text.Bytes(), nil
}

func count(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

// drain reads what little may be left of a body, so that its connection can be
// used again, and closes a connection with more to read.
func drain(body io.ReadCloser) {
	const worthReading = 64 << 10
	_, _ = io.CopyN(io.Discard, body, worthReading)
	_ = body.Close()
}

// unreachable returns the error of a call without a response. That of net/http begins
// with the whole URL, which may hold a password.
func unreachable(err error) *engines.Error {
	cause, scheme := err, ""
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		cause = wrapped.Err
		scheme, _, _ = strings.Cut(wrapped.URL, ":")
	}
	return &engines.Error{Kind: engines.Failed, Message: cause.Error() + hint(scheme, cause), Err: err}
}

func failed(format string, args ...any) *engines.Error {
	return &engines.Error{Kind: engines.Failed, Message: fmt.Sprintf(format, args...)}
}
