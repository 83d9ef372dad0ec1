package sandbox

import (
	"fmt"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// failureThreshold is how many workers in a row a program may kill before its breaker opens.
	failureThreshold = 3
	// minOpen is how long the breaker stays open at first. Each further failure doubles it, up to
	// maxOpen.
	minOpen, maxOpen = time.Minute, 5 * time.Minute
	// recordTTL is how long failures of a program that is no longer called are remembered.
	recordTTL = time.Hour
)

// breaker is a circuit breaker for programs that kill one worker after another. An edited script is a
// new program.
type breaker struct {
	now func() time.Time

	mu      sync.Mutex
	records map[string]*record
}

// record holds the failures of a program since its last answer.
type record struct {
	failures  int
	lastErr   *engines.Error
	failedAt  time.Time
	openUntil time.Time
	openFor   time.Duration
	// halfOpen is set while one call tries whether the program works again.
	halfOpen bool
}

func newBreaker(now func() time.Time) *breaker {
	return &breaker{now: now, records: map[string]*record{}}
}

// allow returns the error of a call to a program whose breaker is open. If it returns nil, the call may
// run, and report must be called with its outcome.
func (b *breaker) allow(program string) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[program]
	if r == nil || r.failures < failureThreshold {
		return nil
	}
	if b.now().Before(r.openUntil) || r.halfOpen {
		return r.err()
	}
	r.halfOpen = true
	return nil
}

// openError returns the error that all calls to a program get at present, or nil.
func (b *breaker) openError(program string) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.records[program]; r != nil && r.failures >= failureThreshold && b.now().Before(r.openUntil) {
		return r.err()
	}
	return nil
}

func (r *record) err() *engines.Error {
	return &engines.Error{Kind: r.lastErr.Kind, Location: r.lastErr.Location, Message: fmt.Sprintf(
		"not called until %s, because it has cost %d script workers in a row: %s: correct the script, which is then called at once",
		r.openUntil.UTC().Format(time.TimeOnly+" MST"), r.failures, r.lastErr.Message)}
}

// outcome is what a call did to the worker that it ran in.
type outcome int

const (
	// inconclusive says nothing about the program: the call did not run, or was canceled.
	inconclusive outcome = iota
	// answered means that the worker is alive, even if it answered with an error.
	answered
	// fatal means that the program killed the worker.
	fatal
)

// report records the outcome of a call, and its error if the outcome is fatal.
func (b *breaker) report(program string, o outcome, err *engines.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[program]
	switch {
	case o == fatal:
		b.recordFailure(program, err)
	case r == nil:
	case o == answered:
		delete(b.records, program)
	default:
		r.halfOpen = false
	}
}

func (b *breaker) recordFailure(program string, err *engines.Error) {
	r := b.records[program]
	if r == nil {
		b.prune()
		r = &record{}
		b.records[program] = r
	}
	r.failures++
	r.lastErr, r.failedAt, r.halfOpen = err, b.now(), false
	if r.failures >= failureThreshold {
		r.openFor = min(max(minOpen, 2*r.openFor), maxOpen)
		r.openUntil = r.failedAt.Add(r.openFor)
	}
}

// prune removes records of programs that have not been called for long, most of them older revisions.
func (b *breaker) prune() {
	for program, r := range b.records {
		if b.now().Sub(r.failedAt) > recordTTL {
			delete(b.records, program)
		}
	}
}
