package webhook

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
)

// program is one endpoint.
type program struct {
	engines.ProgramBase
	engine     *engine
	url        *url.URL
	displayURL string
	endpoint   engines.Endpoint
	limit      int64
	etagCache  *etagCache // nil unless they are remembered
	tlsClient  atomic.Pointer[tlsClient]
	lastSize   atomic.Int64 // of an answer, in bytes: a guess at the next one's
}

// tlsClient is a client, and the TLS configuration that it is for.
type tlsClient struct {
	tls    *tls.Config
	client *http.Client
}

// Run sends the request and reads the answer. The answer is always
// time-dependent: what the server looks at is unknown.
func (p *program) Run(ctx context.Context, call engines.Call) (engines.Response, error) {
	response := engines.Response{TimeDependent: true, Remote: true}
	if ctx.Err() != nil {
		return response, engines.Ended(ctx)
	}
	tracing.SetEngine(ctx, engineName)
	x := &exchange{program: p, call: call, id: fmt.Sprintf("%016x", rand.Uint64())}
	began := time.Now()
	body, err := x.run(ctx)
	took := time.Since(began).Round(10 * time.Microsecond)
	response.Logs = []string{fmt.Sprintf("request %s to %s: %s after %s", x.id, p.displayURL, x.outcome(err), took)}
	if err == nil {
		response.Body = body
		return response, nil
	}
	return response, p.describe(ctx, x.id, err)
}

// describe adds the URL and the ID of the request to an error.
func (p *program) describe(ctx context.Context, id string, err error) *engines.Error {
	wrapped := engines.Error{Kind: engines.Failed, Message: err.Error()}
	var e *engines.Error
	if errors.As(err, &e) {
		wrapped = *e
	}
	if ctx.Err() != nil {
		wrapped = *engines.Ended(ctx)
		wrapped.Err = errors.Join(ctx.Err(), err)
	}
	wrapped.Message = p.displayURL + ": " + wrapped.Message
	wrapped.Stack = append([]string{"request " + id}, wrapped.Stack...)
	return &wrapped
}

// access returns what the endpoint is called with at this moment.
func (p *program) access() (*engines.Access, error) {
	if p.endpoint.Access == nil {
		return &noAccess, nil
	}
	return p.endpoint.Access()
}

// noAccess is the access to endpoints without credentials. It never changes.
var noAccess engines.Access

// client returns the client for a TLS configuration. If it has changed, calls
// under way end on their connections, and later calls use new ones.
func (p *program) client(config *tls.Config) *http.Client {
	for {
		current := p.tlsClient.Load()
		if current.tls == config {
			return current.client
		}
		next := &tlsClient{tls: config, client: p.engine.client}
		if config != nil {
			next.client = newClient(config, p.engine.connections)
		}
		if p.tlsClient.CompareAndSwap(current, next) {
			if current.tls != nil {
				current.client.CloseIdleConnections()
			}
			return next.client
		}
	}
}
