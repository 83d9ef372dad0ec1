package sandbox

import (
	"fmt"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

const (
	// failureThreshold is how many workers in a row a circuit may cost before its breaker opens, and how
	// many objects of a namespace put all of its objects on probation.
	failureThreshold = 3
	// minOpen is how long the breaker stays open at first. Each further failure doubles it, up to
	// maxOpen.
	minOpen, maxOpen = time.Minute, 5 * time.Minute
	// recordTTL is how long a failure is remembered, and its object on probation. It is longer than maxOpen.
	recordTTL = 10 * time.Minute
	// maxRecords bounds the records. Beyond it the oldest one goes.
	maxRecords = 4096
	// maxRecordedError bounds the message that a record keeps, in bytes.
	maxRecordedError = 1024
)

// circuit is what a breaker opens for: the loading of a program, which has no origin, or its calls about
// one object. An edited script is a new program.
type circuit struct {
	program string
	origin  engines.Origin
}

// breaker is a circuit breaker for circuits that cost one worker after another.
type breaker struct {
	now func() time.Time
	// format is the message of calls that are refused: of the time, the number of workers and the last
	// error.
	format string

	mu      sync.Mutex
	records map[circuit]*record
	// inNamespace counts the records by program and namespace. It leaves out objects without namespace.
	inNamespace map[circuit]int
	pruned      time.Time
}

// record holds the failures of a circuit. An answer resets their number, but not the time.
type record struct {
	failures  int
	lastErr   *engines.Error
	failedAt  time.Time
	openUntil time.Time
	openFor   time.Duration
	// halfOpen is set while one call tries whether the circuit works again.
	halfOpen bool
}

const (
	loadsFormat = "not loaded until %s, because loading it has cost %d script workers in a row: %s: " +
		"correct the script, which is then loaded at once"
	callsFormat = "not called until %s for this object, because it has cost %d script workers in a row: %s: " +
		"correct the object by then, or the script, which is called at once"
)

func newBreaker(now func() time.Time, format string) *breaker {
	return &breaker{now: now, format: format, records: map[circuit]*record{}, inNamespace: map[circuit]int{}}
}

// allow returns the error of a call whose circuit is open. If it returns nil, the call may run, and
// report must be called with its outcome.
func (b *breaker) allow(c circuit) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[c]
	if r == nil || r.failures < failureThreshold {
		return nil
	}
	if b.now().Before(r.openUntil) || r.halfOpen {
		return b.refusal(r)
	}
	r.halfOpen = true
	return nil
}

// openError returns the error that all calls of a circuit get at present, or nil.
func (b *breaker) openError(c circuit) *engines.Error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if r := b.records[c]; r != nil && r.failures >= failureThreshold && b.now().Before(r.openUntil) {
		return b.refusal(r)
	}
	return nil
}

func (b *breaker) refusal(r *record) *engines.Error {
	return &engines.Error{
		Kind: r.lastErr.Kind, Location: r.lastErr.Location, Err: engines.ErrBackoff, RetryAfter: max(r.openUntil.Sub(b.now()), time.Second),
		Message: fmt.Sprintf(b.format, r.openUntil.UTC().Format(time.TimeOnly+" MST"), r.failures, r.lastErr.Message),
	}
}

// isOnProbation reports whether calls of a circuit are on probation: it has cost a worker lately, or several
// objects of its namespace have. Objects are easily made, so a new one is treated like its namespace.
func (b *breaker) isOnProbation(c circuit) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.records) == 0 {
		return false
	}
	b.prune()
	return b.records[c] != nil || c.origin.Namespace != "" && b.inNamespace[c.namespace()] >= failureThreshold
}

// namespace returns the circuit without its object.
func (c circuit) namespace() circuit {
	c.origin.ID = ""
	return c
}

// outcome is what a question did to the worker that it ran in.
type outcome int

const (
	// inconclusive says nothing about the circuit: the question was not asked, or was canceled.
	inconclusive outcome = iota
	// answered means that the worker is alive, even if it answered with an error.
	answered
	// fatal means that the question cost the worker, or all of its time.
	fatal
)

// report records the outcome of a question, and its error if the outcome is fatal.
func (b *breaker) report(c circuit, o outcome, err *engines.Error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := b.records[c]
	switch {
	case o == fatal:
		b.recordFailure(c, err)
	case r == nil:
	case o == answered:
		*r = record{failedAt: r.failedAt}
	default:
		r.halfOpen = false
	}
}

func (b *breaker) recordFailure(c circuit, err *engines.Error) {
	b.prune()
	r := b.records[c]
	if r == nil {
		b.makeRoom()
		r = &record{}
		b.records[c] = r
		b.inNamespace[c.namespace()]++
	}
	r.failures++
	r.lastErr = &engines.Error{Kind: err.Kind, Location: err.Location, Message: engines.Truncate(err.Message, maxRecordedError)}
	r.failedAt, r.halfOpen = b.now(), false
	if r.failures >= failureThreshold {
		r.openFor = min(max(minOpen, 2*r.openFor), maxOpen)
		r.openUntil = r.failedAt.Add(r.openFor)
	}
}

// prune removes old records, most of them of objects and revisions that are gone. It looks for them once
// a minute.
func (b *breaker) prune() {
	now := b.now()
	if now.Sub(b.pruned) < time.Minute {
		return
	}
	b.pruned = now
	for c, r := range b.records {
		if now.Sub(r.failedAt) >= recordTTL && !r.halfOpen {
			b.remove(c)
		}
	}
}

// makeRoom removes the oldest record if there are too many.
func (b *breaker) makeRoom() {
	if len(b.records) < maxRecords {
		return
	}
	var oldest circuit
	var failedAt time.Time
	for c, r := range b.records {
		if failedAt.IsZero() || r.failedAt.Before(failedAt) {
			oldest, failedAt = c, r.failedAt
		}
	}
	b.remove(oldest)
}

func (b *breaker) remove(c circuit) {
	delete(b.records, c)
	in := c.namespace()
	if b.inNamespace[in]--; b.inNamespace[in] == 0 {
		delete(b.inNamespace, in)
	}
}
