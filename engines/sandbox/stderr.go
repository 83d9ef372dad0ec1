package sandbox

import (
	"io"
	"sync"
)

// maxStderr is how much is kept of what a worker writes to its standard error during
// one question; the rest is read and dropped.
const maxStderr = 4 << 10

// stderr keeps the beginning of what is written to it since it was last emptied.
type stderr struct {
	mu   sync.Mutex
	kept []byte
	done chan struct{}
}

// drain reads to the end.
func (s *stderr) drain(from io.ReadCloser) {
	defer close(s.done)
	defer from.Close()
	_, _ = io.Copy(s, from) // An end by any error is one.
}

// Write keeps what fits.
func (s *stderr) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, p[:min(len(p), maxStderr-len(s.kept))]...)
	return len(p), nil
}

// empty forgets what earlier questions have led to.
func (s *stderr) empty() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = s.kept[:0]
}

// text is what is kept, once the other end is closed.
func (s *stderr) text() string {
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}
