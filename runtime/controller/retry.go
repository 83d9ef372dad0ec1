package controller

import (
	"cmp"
	"errors"
	"sync"
	"time"
)

// Retry is why a pass is made again, and thereby when: see backoffs.
type Retry uint8

// The kinds of failure, each with what else makes the next pass.
const (
	// Unknown is every failure that nothing is known about.
	Unknown Retry = iota
	// Conflict is a write that met another version. The event of that version follows.
	Conflict
	// Waiting is something that ends by itself: objects are being listed, or one is being
	// deleted. An event tells its end.
	Waiting
	// Unavailable is an API server that does not answer, or has no time.
	Unavailable
	// HookFailed is a hook whose next answer may be another: a webhook that can't be
	// reached, a script that has read the clock, a worker that crashed.
	HookFailed
	// BadResponse is a webhook whose answer is none. Nothing tells that it was mended.
	BadResponse
	// TimedOut is a hook that did not answer in time.
	TimedOut
	// Exhausted is a hook that went over a limit.
	Exhausted
	// Repeats is a script that fails in the same way whenever it is given the same. An
	// edit of it, and every change of what it is given, makes a pass.
	Repeats
	// Refused is a write that the API server will not have. That an admission policy or
	// a right was mended is told by no event.
	Refused
	// Contested is a child of which others hold fields that are not to be taken from them.
	Contested
	// Taken is a child whose name another object has. The event of that object follows.
	Taken
	// NoNamespace is a child whose namespace is not there, or is being deleted. The event
	// of the namespace follows, unless namespaces can't be watched.
	NoNamespace

	retries // how many there are
)

// backoffs is the table of retries. Each kind of failure has a backoff of its own: after
// the first failure of that kind Min, doubling up to Max. What has an event to end it is
// looked at beside that in case the event is lost.
var backoffs = [retries]Backoff{
	Unknown:     {5 * time.Millisecond, 1000 * time.Second}, // Section 2.8 of the specification.
	Conflict:    {50 * time.Millisecond, 5 * time.Second},
	Waiting:     {50 * time.Millisecond, 30 * time.Second},
	Unavailable: {100 * time.Millisecond, 30 * time.Second},
	HookFailed:  {100 * time.Millisecond, time.Minute},
	BadResponse: {time.Second, 5 * time.Minute},
	TimedOut:    {time.Second, 5 * time.Minute},
	Exhausted:   {time.Second, 1000 * time.Second},
	Repeats:     {30 * time.Second, 1000 * time.Second},
	Refused:     {100 * time.Millisecond, 5 * time.Minute},
	Contested:   {5 * time.Second, 5 * time.Minute},
	Taken:       {time.Second, 5 * time.Minute},
	NoNamespace: {time.Second, 5 * time.Minute},
}

// Backoff bounds the delay before a retry.
type Backoff struct{ Min, Max time.Duration }

// after returns the delay after the nth failure, counted from 1.
func (b Backoff) after(n int) time.Duration {
	delay := b.Min
	for ; n > 1 && delay < b.Max; n-- {
		delay *= 2
	}
	return min(delay, b.Max)
}

// Sooner returns which of two failures of one pass is tried again sooner in the long run.
func Sooner(a, b Retry) Retry {
	if cmp.Or(cmp.Compare(backoffs[a].Max, backoffs[b].Max), cmp.Compare(backoffs[a].Min, backoffs[b].Min)) <= 0 {
		return a
	}
	return b
}

// retryOf returns the kind of a failure. What passes by itself is Waiting, unless it is
// known better.
func retryOf(result Result, err error) Retry {
	if result.Retry == Unknown && errors.Is(err, ErrLater) {
		return Waiting
	}
	return result.Retry
}

// failures counts the failed passes over each key since the last one that succeeded.
type failures struct {
	unknown Backoff
	mu      sync.Mutex
	keys    map[Key]*counts
}

// counts are the failures of one key, by kind: a new kind begins its backoff anew, and
// two that alternate do not keep each other at the beginning.
type counts [retries]int

func newFailures(unknown Backoff) *failures {
	return &failures{unknown: unknown, keys: map[Key]*counts{}}
}

// add counts a failure and returns the delay until the retry, and how many there were.
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
		return f.unknown.after(c[retry]), total
	}
	return backoffs[retry].after(c[retry]), total
}

// forget ends the count after a pass that succeeded.
func (f *failures) forget(key Key) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.keys, key)
}
