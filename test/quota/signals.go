package quota

import (
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// signals bound processes by stopping them for the rest of each period.
type signals struct {
	share atomic.Int64 // Of a period, in nanoseconds.
	done  chan struct{}
	ended chan struct{}

	mu   sync.Mutex
	pids []int
}

func newSignals() *signals {
	s := &signals{done: make(chan struct{}), ended: make(chan struct{})}
	go s.run()
	return s
}

func (s *signals) add(pid int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = append(s.pids, pid)
}

// run lets the processes go on for their share of each period, until end is called.
func (s *signals) run() {
	defer close(s.ended)
	defer s.send(syscall.SIGCONT)
	for {
		share := time.Duration(s.share.Load())
		s.send(syscall.SIGCONT)
		if !s.wait(min(share, period)) {
			return
		}
		if share >= period {
			continue
		}
		if s.send(syscall.SIGSTOP); !s.wait(period - share) {
			return
		}
	}
}

// wait reports whether end was not called meanwhile.
func (s *signals) wait(d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-s.done:
		return false
	}
}

// send signals all processes that have not ended.
func (s *signals) send(signal os.Signal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pids = slices.DeleteFunc(s.pids, func(pid int) bool {
		process, err := os.FindProcess(pid)
		return err != nil || process.Signal(signal) != nil
	})
}

func (s *signals) end() {
	close(s.done)
	<-s.ended
}
