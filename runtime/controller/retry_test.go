package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
)

// delayRecorder is a queue that records the last delay.
type delayRecorder struct {
	workqueue.TypedDelayingInterface[Key]
	last time.Duration
}

func (d *delayRecorder) AddAfter(_ Key, delay time.Duration) { d.last = delay }

// TestBackoffs checks each row of the table of retries: the first three delays, and the longest.
func TestBackoffs(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	type delays = [3]time.Duration
	cases := map[string]struct {
		retry  Retry
		reason string
		first  delays
		max    time.Duration
	}{
		"Unknown":     {Unknown, "failures of unknown kind are retried as in metacontroller", delays{5 * ms, 10 * ms, 20 * ms}, 1000 * s},
		"Conflict":    {Conflict, "a newer version is on its way", delays{50 * ms, 100 * ms, 200 * ms}, 5 * s},
		"Waiting":     {Waiting, "an event follows, if it is not lost", delays{50 * ms, 100 * ms, 200 * ms}, 30 * s},
		"Unavailable": {Unavailable, "the API server is soon used again", delays{100 * ms, 200 * ms, 400 * ms}, 30 * s},
		"HookFailed":  {HookFailed, "a webhook is called again within a minute", delays{100 * ms, 200 * ms, 400 * ms}, 60 * s},
		"BadResponse": {BadResponse, "no event tells that a webhook was fixed", delays{s, 2 * s, 4 * s}, 300 * s},
		"TimedOut":    {TimedOut, "a slow hook occupies a worker", delays{s, 2 * s, 4 * s}, 300 * s},
		"Exhausted":   {Exhausted, "the next call usually exceeds the limit, too", delays{s, 2 * s, 4 * s}, 1000 * s},
		"Repeats":     {Deterministic, "the same input causes the same error", delays{30 * s, 60 * s, 120 * s}, 1000 * s},
		"Refused":     {Invalid, "no event tells that a policy was fixed", delays{100 * ms, 200 * ms, 400 * ms}, 300 * s},
		"Contested":   {FieldConflict, "no event tells that another manager released the fields", delays{5 * s, 10 * s, 20 * s}, 300 * s},
		"Taken":       {AlreadyExists, "the deletion of the other object is an event", delays{s, 2 * s, 4 * s}, 300 * s},
		"NoNamespace": {NamespaceMissing, "the creation of the namespace is an event, if it can be watched", delays{s, 2 * s, 4 * s}, 300 * s},
	}
	if len(cases) != int(retryKinds) {
		t.Errorf("%d of %d rows are tested", len(cases), retryKinds)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFailures(backoffs[Unknown])
			var delay time.Duration
			for n := range 100 {
				if delay, _ = f.add(Key{Name: "a"}, tc.retry); n < 3 && delay != tc.first[n] {
					t.Errorf("%s: %s after failure %d, want %s", tc.reason, delay, n+1, tc.first[n])
				}
			}
			if delay != tc.max {
				t.Errorf("%s: at most %s, want %s", tc.reason, delay, tc.max)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	f, key := newFailures(Backoff{time.Second, time.Hour}), Key{Name: "a"}
	expect := func(reason string, key Key, retry Retry, want time.Duration, total int) {
		t.Helper()
		if delay, n := f.add(key, retry); delay != want || n != total {
			t.Errorf("%s: %s after %d failures, want %s after %d", reason, delay, n, want, total)
		}
	}
	for n := range 20 {
		f.add(key, HookFailed)
		if n == 9 {
			f.add(key, Invalid)
		}
	}
	expect("a new kind of failure starts with its minimum", key, Unavailable, 100*time.Millisecond, 22)
	expect("a known kind continues, so that kinds that alternate do not reset each other", key, Invalid, 200*time.Millisecond, 23)
	expect("each key has its own counts", Key{Name: "b"}, HookFailed, 100*time.Millisecond, 1)
	expect("failures of unknown kind use the configured backoff", Key{Name: "b"}, Unknown, time.Second, 2)
	f.forget(key)
	expect("a success resets the backoff", key, HookFailed, 100*time.Millisecond, 1)
}

// TestUnfinished checks that a reconcile that waits for something leaves the backoff as it is.
func TestUnfinished(t *testing.T) {
	c := New(Config{Name: "test", Clock: clock.RealClock{}, Log: logr.Discard()})
	defer c.Close()
	recorder := &delayRecorder{TypedDelayingInterface: c.queue}
	c.queue = recorder
	steps := []struct {
		reason string
		result Result
		err    error
		want   time.Duration
	}{
		{"the first failure", Result{Retry: HookFailed}, errors.New("boom"), 100 * time.Millisecond},
		{"it waits as long as it asks for", Result{RequeueAfter: time.Second, Unfinished: true}, nil, time.Second},
		{"the backoff goes on where it was", Result{Retry: HookFailed}, errors.New("boom"), 200 * time.Millisecond},
		{"a success", Result{RequeueAfter: time.Minute}, nil, time.Minute},
		{"the backoff begins again", Result{Retry: HookFailed}, errors.New("boom"), 100 * time.Millisecond},
	}
	for _, step := range steps {
		c.schedule(context.Background(), Key{Name: "a"}, step.result, step.err)
		if recorder.last != step.want {
			t.Errorf("%s: the next reconcile is after %s, want %s", step.reason, recorder.last, step.want)
		}
	}
}

func TestSooner(t *testing.T) {
	cases := map[string]struct{ a, b, want Retry }{
		"LowerMax":    {Invalid, Unavailable, Unavailable},
		"SameMax":     {TimedOut, Invalid, Invalid},
		"Same":        {HookFailed, HookFailed, HookFailed},
		"UnknownLast": {Unknown, HookFailed, HookFailed},
		"RepeatsLast": {Unknown, Deterministic, Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Sooner(tc.a, tc.b); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if got := Sooner(tc.b, tc.a); got != tc.want {
				t.Errorf("swapped: got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestSchedule checks the delay after a reconcile.
func TestSchedule(t *testing.T) {
	boom := errors.New("boom")
	later := fmt.Errorf("%w: %w", ErrLater, boom)
	cases := map[string]struct {
		reason string
		result Result
		err    error
		want   time.Duration // zero for none
	}{
		"Success":       {"no retry after a success", Result{}, nil, 0},
		"Resync":        {"except at the requested time", Result{RequeueAfter: time.Hour}, nil, time.Hour},
		"Failed":        {"a failure has the backoff of its kind", Result{Retry: Deterministic}, boom, 30 * time.Second},
		"FailedResync":  {"but no later than the resync", Result{Retry: Deterministic, RequeueAfter: 7 * time.Second}, boom, 7 * time.Second},
		"FailedAtOnce":  {"and not within a second", Result{Retry: Deterministic, RequeueAfter: time.Millisecond}, boom, time.Second},
		"RetryAfter":    {"the server has named the time", Result{Retry: HookFailed, RequeueAfter: time.Hour}, later, time.Hour},
		"Later":         {"a transient reason is of kind Waiting", Result{}, later, 50 * time.Millisecond},
		"LaterAndKnown": {"unless the result has a kind", Result{Retry: NamespaceMissing}, later, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(Config{Name: "test", Clock: clock.RealClock{}, Log: logr.Discard()})
			defer c.Close()
			recorder := &delayRecorder{TypedDelayingInterface: c.queue}
			c.queue = recorder
			c.schedule(context.Background(), Key{Name: "a"}, tc.result, tc.err)
			if recorder.last != tc.want {
				t.Errorf("%s: retried after %s, want %s", tc.reason, recorder.last, tc.want)
			}
		})
	}
}
