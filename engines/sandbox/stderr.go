package sandbox

import (
	"io"
	"sync"
	"time"
)

const (
	// maxStderr bounds what is kept of a worker's standard error for one question. The rest is counted
	// and dropped.
	maxStderr = 4 << 10
	// stderrRate is how many bytes a second are read of it, and stderrBurst how many at once: what the Go
	// runtime writes when it ends a process is read without a pause. A worker that writes faster waits.
	stderrRate, stderrBurst = 256 << 10, 1 << 20
)

// stderrBuffer keeps the beginning of what was written since the last reset.
type stderrBuffer struct {
	mu      sync.Mutex
	buf     []byte
	dropped int64

	rate rateLimit
	// exited is closed by wait. What is then left to read is no more than fits into the pipe.
	exited chan struct{}
	done   chan struct{}
}

func newStderrBuffer() *stderrBuffer {
	return &stderrBuffer{rate: rateLimit{left: stderrBurst}, exited: make(chan struct{}), done: make(chan struct{})}
}

// readFrom reads to the end. It pauses if there is more than stderrRate allows.
func (s *stderrBuffer) readFrom(from io.ReadCloser) {
	defer close(s.done)
	defer from.Close()
	buf := make([]byte, 16<<10)
	for {
		n, err := from.Read(buf)
		s.keep(buf[:n])
		if err != nil {
			return // Any error is the end.
		}
		if pause := s.rate.take(n, time.Now()); pause > 0 {
			select {
			case <-time.After(pause):
			case <-s.exited:
			}
		}
	}
}

// keep keeps as much of p as fits.
func (s *stderrBuffer) keep(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fits := min(len(p), maxStderr-len(s.buf))
	s.buf = append(s.buf, p[:fits]...)
	s.dropped += int64(len(p) - fits)
}

// reset discards what is kept.
func (s *stderrBuffer) reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
}

// wait returns what is kept once the other end is closed, and how many bytes were dropped. It is called
// when the process has exited.
func (s *stderrBuffer) wait() (kept string, dropped int64) {
	close(s.exited)
	<-s.done
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.buf), s.dropped
}

// rateLimit allows stderrRate bytes a second, and stderrBurst bytes at once.
type rateLimit struct {
	left float64 // Negative if more was taken than allowed.
	at   time.Time
}

// take takes n bytes and returns how long to wait before the next ones.
func (r *rateLimit) take(n int, now time.Time) time.Duration {
	if !r.at.IsZero() {
		r.left = min(r.left+now.Sub(r.at).Seconds()*stderrRate, stderrBurst)
	}
	r.at = now
	r.left -= float64(n)
	return max(0, time.Duration(-r.left/stderrRate*float64(time.Second)))
}
