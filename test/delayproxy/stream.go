package delayproxy

import (
	"io"
	"sync"
	"time"
)

// stream is a body whose parts are read some time after they came. It knows nothing of events: they come one by one, in
// whatever format.
type stream struct {
	body  io.ReadCloser
	delay func() time.Duration
	// closed ends a Read that waits.
	closed chan struct{}
	once   sync.Once
	// ended is called when the stream is closed, if it is not nil.
	ended func()

	mu    sync.Mutex
	parts []part
	last  time.Time     // when the last part is due
	more  chan struct{} // has a token when parts has grown
}

// part is what came at once, or the error with which the body ended.
type part struct {
	data []byte
	err  error
	due  time.Time
}

// delayed returns body, but for the delay that each part has when it comes.
func delayed(body io.ReadCloser, delay func() time.Duration) *stream {
	s := &stream{body: body, delay: delay, closed: make(chan struct{}), more: make(chan struct{}, 1)}
	go s.receive()
	return s
}

// receive takes what comes until the body ends, which it does when it is closed.
func (s *stream) receive() {
	for {
		buffer := make([]byte, 32<<10)
		n, err := s.body.Read(buffer)
		if n > 0 {
			s.add(part{data: buffer[:n]})
		}
		if err != nil {
			s.add(part{err: err})
			return
		}
	}
}

// add puts a part behind those that wait, whatever the delay was when they came.
func (s *stream) add(p part) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.due = time.Now().Add(s.delay()); p.due.Before(s.last) {
		p.due = s.last
	}
	s.last = p.due
	s.parts = append(s.parts, p)
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Read returns what is due, and waits for it.
func (s *stream) Read(into []byte) (int, error) {
	for {
		next, ok := s.first()
		select {
		case <-s.closed:
			return 0, io.ErrClosedPipe
		default:
		}
		switch wait := time.Until(next.due); {
		case !ok:
			select {
			case <-s.more:
			case <-s.closed:
				return 0, io.ErrClosedPipe
			}
		case wait > 0:
			select {
			case <-time.After(wait):
			case <-s.closed:
				return 0, io.ErrClosedPipe
			}
		case next.err != nil:
			return 0, next.err
		default:
			return s.take(into), nil
		}
	}
}

// first returns the part that is due next, if there is any.
func (s *stream) first() (part, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.parts) == 0 {
		return part{}, false
	}
	return s.parts[0], true
}

// take moves what fits of the first part.
func (s *stream) take(into []byte) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(into, s.parts[0].data)
	if s.parts[0].data = s.parts[0].data[n:]; len(s.parts[0].data) == 0 {
		s.parts = s.parts[1:]
	}
	return n
}

// Close ends the body, and what waits for it.
func (s *stream) Close() error {
	s.once.Do(func() { close(s.closed) })
	if s.ended != nil {
		s.ended()
	}
	return s.body.Close()
}

// cut ends a Read that waits, and each later one, with an error.
func (s *stream) cut() { s.once.Do(func() { close(s.closed) }) }
