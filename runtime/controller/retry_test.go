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

// delays is a queue that notes the last delay.
type delays struct {
	workqueue.TypedDelayingInterface[Key]
	last time.Duration
}

func (d *delays) AddAfter(_ Key, delay time.Duration) { d.last = delay }

// TestBackoffs is the table of retries, row by row: the first three delays, and the longest.
func TestBackoffs(t *testing.T) {
	const ms, s = time.Millisecond, time.Second
	cases := map[string]struct {
		retry  Retry
		reason string
		first  [3]time.Duration
		most   time.Duration
	}{
		"Unknown":     {Unknown, "what nothing is known about is retried as in metacontroller", [3]time.Duration{5 * ms, 10 * ms, 20 * ms}, 1000 * s},
		"Conflict":    {Conflict, "a newer version is on its way", [3]time.Duration{50 * ms, 100 * ms, 200 * ms}, 5 * s},
		"Waiting":     {Waiting, "an event tells the end, if it is not lost", [3]time.Duration{50 * ms, 100 * ms, 200 * ms}, 30 * s},
		"Unavailable": {Unavailable, "an API server that is back is noticed soon", [3]time.Duration{100 * ms, 200 * ms, 400 * ms}, 30 * s},
		"HookFailed":  {HookFailed, "a webhook that is back is noticed within a minute", [3]time.Duration{100 * ms, 200 * ms, 400 * ms}, 60 * s},
		"BadResponse": {BadResponse, "nothing tells that a webhook was mended", [3]time.Duration{s, 2 * s, 4 * s}, 300 * s},
		"TimedOut":    {TimedOut, "a hook that takes long keeps a worker", [3]time.Duration{s, 2 * s, 4 * s}, 300 * s},
		"Exhausted":   {Exhausted, "a limit is met again, mostly", [3]time.Duration{s, 2 * s, 4 * s}, 1000 * s},
		"Repeats":     {Repeats, "the same fails in the same way", [3]time.Duration{30 * s, 60 * s, 120 * s}, 1000 * s},
		"Refused":     {Refused, "nothing tells that a policy was mended", [3]time.Duration{100 * ms, 200 * ms, 400 * ms}, 300 * s},
		"Contested":   {Contested, "nothing tells that another manager gave in", [3]time.Duration{5 * s, 10 * s, 20 * s}, 300 * s},
		"Taken":       {Taken, "the object in the way tells when it goes", [3]time.Duration{s, 2 * s, 4 * s}, 300 * s},
		"NoNamespace": {NoNamespace, "the namespace tells when it comes, if it can be watched", [3]time.Duration{s, 2 * s, 4 * s}, 300 * s},
	}
	if len(cases) != int(retries) {
		t.Errorf("%d rows are tested, of %d", len(cases), retries)
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
			if delay != tc.most {
				t.Errorf("%s: %s at the most, want %s", tc.reason, delay, tc.most)
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
			f.add(key, Refused)
		}
	}
	expect("a new kind of failure begins anew", key, Unavailable, 100*time.Millisecond, 22)
	expect("one that comes back goes on, so that two that alternate don't hurry each other", key, Refused, 200*time.Millisecond, 23)
	expect("another key is another matter", Key{Name: "b"}, HookFailed, 100*time.Millisecond, 1)
	expect("failures of no known kind go by the configuration", Key{Name: "b"}, Unknown, time.Second, 2)
	f.forget(key)
	expect("a success ends it", key, HookFailed, 100*time.Millisecond, 1)
}

func TestSooner(t *testing.T) {
	cases := map[string]struct{ a, b, want Retry }{
		"LowerBound":  {Refused, Unavailable, Unavailable},
		"SameBound":   {TimedOut, Refused, Refused},
		"Same":        {HookFailed, HookFailed, HookFailed},
		"RatherKnown": {Unknown, HookFailed, HookFailed},
		"RatherSoon":  {Unknown, Repeats, Unknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Sooner(tc.a, tc.b); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
			if got := Sooner(tc.b, tc.a); got != tc.want {
				t.Errorf("the other way round: got %d, want %d", got, tc.want)
			}
		})
	}
}

// TestSchedule looks at the delay that a pass ends with.
func TestSchedule(t *testing.T) {
	boom := errors.New("boom")
	later := fmt.Errorf("%w: %w", ErrLater, boom)
	cases := map[string]struct {
		reason string
		result Result
		err    error
		want   time.Duration // zero for none
	}{
		"Success":       {"what succeeded rests", Result{}, nil, 0},
		"Resync":        {"or is looked at when it asks for", Result{RequeueAfter: time.Hour}, nil, time.Hour},
		"Failed":        {"a failure goes by its row", Result{Retry: Repeats}, boom, 30 * time.Second},
		"FailedResync":  {"but no later than the resync", Result{Retry: Repeats, RequeueAfter: 7 * time.Second}, boom, 7 * time.Second},
		"FailedAtOnce":  {"which waits for a second at least", Result{Retry: Repeats, RequeueAfter: time.Millisecond}, boom, time.Second},
		"Named":         {"the far side has named the time", Result{Retry: HookFailed, RequeueAfter: time.Hour}, later, time.Hour},
		"Later":         {"what passes by itself goes by its row", Result{}, later, 50 * time.Millisecond},
		"LaterAndKnown": {"if that is known", Result{Retry: NoNamespace}, later, time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(Config{Name: "test", Clock: clock.RealClock{}, Log: logr.Discard()})
			defer c.Close()
			added := &delays{TypedDelayingInterface: c.queue}
			c.queue = added
			c.schedule(context.Background(), Key{Name: "a"}, tc.result, tc.err)
			if added.last != tc.want {
				t.Errorf("%s: looked at again after %s, want %s", tc.reason, added.last, tc.want)
			}
		})
	}
}
