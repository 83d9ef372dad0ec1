package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
	"k8s.io/apimachinery/pkg/util/wait"
)

// client sends spans to a collector by OTLP over HTTP.
type client struct {
	config
	http *http.Client
}

// newClient returns a client of the collector. It goes through the proxies of the process, and follows no redirect: the headers may hold a
// secret.
func newClient(c config, userAgent string) *client {
	transport, _ := http.DefaultTransport.(*http.Transport)
	transport = transport.Clone()
	transport.TLSClientConfig = c.tls
	c.header.Set("Content-Type", "application/x-protobuf")
	c.header.Set("User-Agent", userAgent)
	if c.gzip {
		c.header.Set("Content-Encoding", "gzip")
	}
	return &client{config: c, http: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Start does nothing: the first export connects.
func (c *client) Start(context.Context) error { return nil }

// Stop closes the connections.
func (c *client) Stop(context.Context) error {
	c.http.CloseIdleConnections()
	return nil
}

// UploadTraces sends spans, again for as long as an export may take if the collector can't take them at the moment.
func (c *client) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// An ExportTraceServiceRequest is the same on the wire, but its package links gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var compressed bytes.Buffer
		w := gzip.NewWriter(&compressed)
		_, err := w.Write(body)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		body = compressed.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	backoff := wait.Backoff{Duration: time.Second / 2, Factor: 2, Jitter: 0.5, Steps: 10, Cap: c.timeout}
	for {
		again, after, err := c.send(ctx, body)
		if err == nil || !again {
			return err
		}
		select {
		case <-time.After(max(after, backoff.Step())):
		case <-ctx.Done():
			return err
		}
	}
}

// send sends a request once. It returns whether the request may be sent again, and after how long at the earliest.
func (c *client) send(ctx context.Context, body []byte) (again bool, after time.Duration, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return false, 0, err
	}
	request.Header = c.header.Clone()
	response, err := c.http.Do(request)
	if err != nil {
		var wrapped *url.Error // It begins with the whole URL, which may hold a password.
		if errors.As(err, &wrapped) {
			err = wrapped.Err
		}
		return true, 0, fmt.Errorf("%s: %w", c.endpoint.Host, err)
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, 64<<10)
	if response.StatusCode < http.StatusMultipleChoices {
		return false, 0, nil
	}
	seconds, _ := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return again, time.Duration(seconds) * time.Second, fmt.Errorf("%s answered %s", c.endpoint.Host, response.Status)
}
