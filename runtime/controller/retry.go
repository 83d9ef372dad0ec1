package controller

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// Retry is the kind of a failure. It decides the backoff of the retry: see backoffs.
type Retry uint8

// The kinds of failure. Some end with an event, which causes a reconcile; they are retried in case the
// event is lost. The others are only noticed by a retry.
const (
	// Unknown means all failures of no other kind.
	Unknown Retry = iota
	// Conflict means that a write met another version of the object. The event of that version follows.
	Conflict
	// Waiting means a transient state: objects are being listed, or an object is being deleted. An event
	// follows.
	Waiting
	// Unavailable means that the API server does not answer, or is overloaded.
	Unavailable
	// HookFailed means that the hook failed, but may succeed on the same input: a webhook can't be
	// reached, a script has read the clock, a worker crashed.
	HookFailed
	// BadResponse means that the response of a webhook is invalid.
	BadResponse
	// TimedOut means that a hook did not answer in time.
	TimedOut
	// Exhausted means that a hook exceeded a limit.
	Exhausted
	// Repeats means that a script fails on its input, and would fail again. Edits of the script and
	// changes of its input cause a reconcile.
	Deterministic
	// Refused means that the API server rejected a write. No event tells when an admission policy or a
	// permission changes.
	Invalid
	// Contested means that other field managers own fields of a child that must not be taken from them.
	FieldConflict
	// Taken means that another object has the name of a child. The event of that object follows.
	AlreadyExists
	// NoNamespace means that the namespace of a child does not exist, or is being deleted. The event of
	// the namespace follows, unless namespaces can't be watched.
	NamespaceMissing

	retryKinds // The number of kinds.
)

// backoffs is the table of retries. Each kind of failure has its own backoff: Min after the first
// failure of that kind, doubling up to Max.
var backoffs = [retryKinds]Backoff{
	Unknown:          {5 * time.Millisecond, 1000 * time.Second}, // Section 2.8 of the specification.
	Conflict:         {50 * time.Millisecond, 5 * time.Second},
	Waiting:          {50 * time.Millisecond, 30 * time.Second},
	Unavailable:      {100 * time.Millisecond, 30 * time.Second},
	HookFailed:       {100 * time.Millisecond, time.Minute},
	BadResponse:      {time.Second, 5 * time.Minute},
	TimedOut:         {time.Second, 5 * time.Minute},
	Exhausted:        {time.Second, 1000 * time.Second},
	Deterministic:    {30 * time.Second, 1000 * time.Second},
	Invalid:          {100 * time.Millisecond, 5 * time.Minute},
	FieldConflict:    {5 * time.Second, 5 * time.Minute},
	AlreadyExists:    {time.Second, 5 * time.Minute},
	NamespaceMissing: {time.Second, 5 * time.Minute},
}

// Backoff bounds the delay before a retry.
type Backoff struct{ Min, Max time.Duration }

// delay returns the delay after the nth failure, counted from 1.
func (b Backoff) delay(n int) time.Duration {
	delay := b.Min
	for ; n > 1 && delay < b.Max; n-- {
		delay *= 2
	}
	return min(delay, b.Max)
}

// Sooner returns the kind with the shorter maximum delay. The shorter minimum breaks ties.
func Sooner(a, b Retry) Retry {
	if cmp.Or(cmp.Compare(backoffs[a].Max, backoffs[b].Max), cmp.Compare(backoffs[a].Min, backoffs[b].Min)) <= 0 {
		return a
	}
	return b
}

// retryOf returns the kind of a failure. ErrLater is Waiting, unless the result has a kind.
func retryOf(result Result, err error) Retry {
	if result.Retry == Unknown && errors.Is(err, ErrLater) {
		return Waiting
	}
	return result.Retry
}

// failures counts the failures of each key since its last success.
type failures struct {
	unknown Backoff // The backoff of the kind Unknown.
	mu      sync.Mutex
	keys    map[Key]*counts
}

// counts has the failures of one key by kind. Each kind has a count of its own, so that kinds that
// alternate do not reset each other's backoff.
type counts [retryKinds]int

func newFailures(unknown Backoff) *failures {
	return &failures{unknown: unknown, keys: map[Key]*counts{}}
}

// add counts a failure of key. It returns the delay until the retry, and the number of failures of all kinds.
func (f *failures) add(key Key, retry Retry) (delay time.Duration, total int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.keys[key]
	if c == nil {
		c = &counts{}
		f.keys[key] = c
	}
	c[retry]++
	for _, n := range c {
		total += n
	}
	if retry == Unknown {
		return f.unknown.delay(c[retry]), total
	}
	return backoffs[retry].delay(c[retry]), total
}

// forget drops the counts of key after a success.
func (f *failures) forget(key Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
}
