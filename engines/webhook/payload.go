package webhook

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"
)

// payload is an encoded request. Its memory is reused when the call is over
// and its readers are closed: net/http may read for a while after it has returned.
type payload struct {
	text  []byte
	users atomic.Int32
}

// payloads is the pool of payloads that are not in use.
var payloads = sync.Pool{New: func() any { return &payload{} }}

// maxPooledBytes is the largest payload that is kept for later.
const maxPooledBytes = 4 << 20

func newPayload() *payload {
	p := payloads.Get().(*payload)
	p.text = p.text[:0]
	p.users.Store(1)
	return p
}

// release ends one use.
func (p *payload) release() {
	if p.users.Add(-1) == 0 && cap(p.text) <= maxPooledBytes {
		payloads.Put(p)
	}
}

// open returns a reader of the payload, which has to be closed.
func (p *payload) open() io.ReadCloser {
	p.users.Add(1)
	return &payloadReader{payload: p, rest: p.text}
}

// payloadReader reads a payload once. Close may come while Read is under way.
type payloadReader struct {
	mu      sync.Mutex
	payload *payload
	rest    []byte
}

var errClosed = errors.New("the request's body is closed")

// Read returns what comes next, and nothing after Close.
func (r *payloadReader) Read(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.payload == nil:
		return 0, errClosed
	case len(r.rest) == 0:
		return 0, io.EOF
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// Close releases the payload.
func (r *payloadReader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.payload != nil {
		r.payload.release()
		r.payload, r.rest = nil, nil
	}
	return nil
}
