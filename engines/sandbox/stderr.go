package sandbox

import (
	"io"
	"sync"
)

// maxStderr bounds what is kept of a worker's standard error for one question. The rest is discarded.
const maxStderr = 4 << 10

// stderrBuffer keeps the beginning of what was written since the last reset.
type stderrBuffer struct {
	mu   sync.Mutex
	buf  []byte
	done chan struct{}
}

// readFrom reads to the end.
func (s *stderrBuffer) readFrom(from io.ReadCloser) {
	defer close(s.done)
	defer from.Close()
	_, _ = io.Copy(s, from) // Any error is the end.
}

// Write keeps as much of p as fits.
func (s *stderrBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = append(s.buf, p[:min(len(p), maxStderr-len(s.buf))]...)
	return len(p), nil
}

// reset discards what is kept.
func (s *stderrBuffer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
}

// wait returns what is kept once the other end is closed.
func (s *stderrBuffer) wait() string {
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.buf)
}
