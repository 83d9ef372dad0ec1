package sandbox

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestStderrKeepsTheBeginning(t *testing.T) {
	s := newStderrBuffer()
	s.readFrom(io.NopCloser(strings.NewReader(strings.Repeat("a", maxStderr) + strings.Repeat("b", 1000))))
	kept, dropped := s.wait()
	if kept != strings.Repeat("a", maxStderr) || dropped != 1000 {
		t.Errorf("%d bytes are kept, %d dropped", len(kept), dropped)
	}
}

// TestRateLimit takes as fast as is allowed. The time that this takes is known.
func TestRateLimit(t *testing.T) {
	limit, began := rateLimit{left: stderrBurst}, time.Unix(0, 0)
	now := began
	flood := func(bytes int) time.Duration {
		start := now
		for taken := 0; taken < bytes; taken += 1 << 10 {
			now = now.Add(limit.take(1<<10, now))
		}
		return now.Sub(start).Round(10 * time.Millisecond)
	}
	if took := flood(stderrBurst); took > 0 {
		t.Errorf("the first bytes take %v, want no time", took)
	}
	if took := flood(100 * stderrRate); took != 100*time.Second {
		t.Errorf("the next ones take %v, want 100 seconds", took)
	}
	now = now.Add(time.Hour)
	if took := flood(stderrBurst + 2*stderrRate); took != 2*time.Second {
		t.Errorf("after an hour of silence they take %v, want two seconds beyond what is allowed at once", took)
	}
}

// endless is a worker that does not stop to write.
type endless struct{ io.ReadCloser }

func (endless) Read(p []byte) (int, error) { return copy(p, bytes.Repeat([]byte("x"), len(p))), nil }
func (endless) Close() error               { return nil }

// last ends after the process has exited.
type last struct {
	endless
	exited <-chan struct{}
}

func (l last) Read(p []byte) (int, error) {
	select {
	case <-l.exited:
		return 0, io.EOF
	default:
		return l.endless.Read(p)
	}
}

// TestStderrFlood has a worker write without end. It is read no faster than allowed, and what is left when
// it exits is read at once.
func TestStderrFlood(t *testing.T) {
	s := newStderrBuffer()
	began := time.Now()
	go s.readFrom(last{exited: s.exited})
	for limit := 2 * int64(stderrBurst); ; {
		s.mu.Lock()
		read := s.dropped + int64(len(s.buf))
		s.mu.Unlock()
		took := time.Since(began)
		if allowed := stderrBurst + 16<<10 + int64(took.Seconds()*stderrRate); read > allowed {
			t.Fatalf("%d bytes are read in %v, more than the %d allowed", read, took, allowed)
		}
		if read >= stderrBurst || read > limit {
			break
		}
	}
	kept, dropped := s.wait()
	if len(kept) != maxStderr || dropped < stderrBurst-maxStderr {
		t.Errorf("%d bytes are kept and %d dropped", len(kept), dropped)
	}
}
