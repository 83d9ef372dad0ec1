package scripts

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// maxTestRuns is how many texts are tested at once. Each has a cluster in memory.
	maxTestRuns = 4
	// maxTestWait is how long a text waits for the tests of others.
	maxTestWait = 10 * time.Minute
)

var errTestSlots = errors.New("the tests of other scripts have not ended")

// Slots bound how many runs there are at once: one of each trust domain, so that no domain takes all slots.
type Slots struct {
	all  chan struct{}
	wait time.Duration
	late error

	mu      sync.Mutex
	domains map[string]*domainSlot
}

// domainSlot is the slot of a trust domain.
type domainSlot struct {
	taken chan struct{} // Has room for one.
	users int           // That have the slot or wait for it.
}

// NewSlots returns slots for so many runs. Who has waited for longer than wait gets the error late, unless wait is zero.
func NewSlots(runs int, wait time.Duration, late error) *Slots {
	return &Slots{all: make(chan struct{}, runs), wait: wait, late: late, domains: map[string]*domainSlot{}}
}

// Acquire waits for a slot. It returns a function that gives the slot back.
func (s *Slots) Acquire(ctx context.Context, domain string) (release func(), err error) {
	if s.wait > 0 {
		bounded, cancel := context.WithTimeoutCause(ctx, s.wait, s.late)
		defer cancel()
		ctx = bounded
	}
	own := s.join(domain)
	if err := take(ctx, own.taken); err != nil {
		s.leave(domain)
		return nil, err
	}
	if err := take(ctx, s.all); err != nil {
		<-own.taken
		s.leave(domain)
		return nil, err
	}
	return func() {
		<-s.all
		<-own.taken
		s.leave(domain)
	}, nil
}

func take(ctx context.Context, slot chan struct{}) error {
	select {
	case slot <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *Slots) join(domain string) *domainSlot {
	s.mu.Lock()
	defer s.mu.Unlock()
	own := s.domains[domain]
	if own == nil {
		own = &domainSlot{taken: make(chan struct{}, 1)}
		s.domains[domain] = own
	}
	own.users++
	return own
}

func (s *Slots) leave(domain string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if own := s.domains[domain]; own.users > 1 {
		own.users--
	} else {
		delete(s.domains, domain)
	}
}
