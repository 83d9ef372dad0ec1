package apiserver

import (
	"context"
	"io"
	"net/http"
	"sync"
)

// NewTransport returns a transport that calls a handler in the same process. What the handler writes can be read at once.
func NewTransport(handler http.Handler) http.RoundTripper { return transport{handler} }

type transport struct{ handler http.Handler }

// RoundTrip calls the handler, and returns once it has begun to answer.
func (t transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(request.Context())
	read, write := io.Pipe()
	w := &responseWriter{
		body: write, header: http.Header{}, started: make(chan struct{}),
		response: &http.Response{
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, ContentLength: -1, Request: request, Body: &responseBody{read, cancel},
		},
	}
	context.AfterFunc(ctx, func() { write.CloseWithError(context.Cause(ctx)) })
	inner := request.Clone(ctx)
	inner.RequestURI = request.URL.RequestURI()
	if inner.Body == nil {
		inner.Body = http.NoBody
	}
	go func() {
		defer inner.Body.Close()
		t.handler.ServeHTTP(w, inner)
		w.WriteHeader(http.StatusOK)
		write.CloseWithError(context.Cause(ctx)) // Who has ended the request must not take what there is for the whole.
	}()
	select {
	case <-w.started:
		return w.response, nil
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
}

// responseBody is what a handler writes. Its end ends the request.
type responseBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

// Close ends the request.
func (b *responseBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

type responseWriter struct {
	body     *io.PipeWriter
	header   http.Header
	response *http.Response
	once     sync.Once
	started  chan struct{}
}

// Header returns the header of the response.
func (w *responseWriter) Header() http.Header { return w.header }

// WriteHeader begins the response, unless it has begun.
func (w *responseWriter) WriteHeader(code int) {
	w.once.Do(func() {
		w.response.StatusCode, w.response.Status = code, http.StatusText(code)
		w.response.Header = w.header.Clone()
		close(w.started)
	})
}

// Write writes to the body.
func (w *responseWriter) Write(text []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(text)
}

// Flush begins the response: what is written is there at once.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }
