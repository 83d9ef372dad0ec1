package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/client-go/rest"
)

// WithTimeout bounds a command. Zero means no limit.
func WithTimeout(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, &TimeoutError{timeout})
}

// TimeoutError is that a command took too long.
type TimeoutError struct{ timeout time.Duration }

// Error returns the flag.
func (e *TimeoutError) Error() string {
	return fmt.Sprintf("it took longer than --timeout %s", e.timeout)
}

// errStopped is the error of a command that is interrupted. It has not done what it was to do.
var errStopped = errors.New("it was interrupted")

// CauseOf returns why a command failed: that its context ended, or err.
func CauseOf(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case err == nil || cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return errStopped
	default:
		return cause
	}
}

// BoundConfig returns the configuration of the cluster for a command that ends: no request lasts longer than ctx, also those of discovery,
// which take no context.
func (c *ClusterFlags) BoundConfig(ctx context.Context, w Process) (*rest.Config, error) {
	config, _, err := c.Config(w)
	if err == nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return boundTransport{ctx, next} })
	}
	return config, err
}

// boundTransport ends requests with ctx.
type boundTransport struct {
	ctx  context.Context
	next http.RoundTripper
}

// RoundTrip sends a request.
func (t boundTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(t.ctx, func() { cancel(context.Cause(t.ctx)) })
	end := func() {
		stop()
		cancel(nil)
	}
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	if err != nil {
		end()
		return nil, err
	}
	response.Body = boundBody{response.Body, end}
	return response, nil
}

// boundBody is a body that is read within the time of its request.
type boundBody struct {
	io.ReadCloser
	end func()
}

// Close closes the body, and lets go of the request.
func (b boundBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
