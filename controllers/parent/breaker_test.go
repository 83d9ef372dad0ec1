package parent

import (
	"fmt"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
)

func TestBreaker(t *testing.T) {
	key := apply.Key{Name: "c"}
	cases := map[string]struct {
		reason string
		write  func(n int) apply.FieldDiff
		every  time.Duration
		times  int
		trips  int
	}{
		"Undone": {
			reason: "A field that is set back after every write is left alone after the tenth time.",
			write:  func(int) apply.FieldDiff { return apply.FieldDiff{Path: "a", From: "theirs", To: "ours"} },
			every:  time.Second, times: 11, trips: 1,
		},
		"OneFewer": {
			reason: "One time fewer is still tolerated.",
			write:  func(int) apply.FieldDiff { return apply.FieldDiff{Path: "a", From: "theirs", To: "ours"} },
			every:  time.Second, times: 10, trips: 0,
		},
		"Counter": {
			reason: "A hook that changes a field all the time is no loop: what was written is found as it was.",
			write: func(n int) apply.FieldDiff {
				return apply.FieldDiff{Path: "a", From: fmt.Sprint(n), To: fmt.Sprint(n + 1)}
			},
			every: time.Second, times: 100, trips: 0,
		},
		"Seldom": {
			reason: "Somebody who sets a field back now and then is no loop.",
			write:  func(int) apply.FieldDiff { return apply.FieldDiff{Path: "a", From: "theirs", To: "ours"} },
			every:  undoneWithin / 5, times: 100, trips: 0,
		},
		"DifferentFields": {
			reason: "Each field counts by itself.",
			write: func(n int) apply.FieldDiff {
				return apply.FieldDiff{Path: fmt.Sprint(n % 4), From: "theirs", To: "ours"}
			},
			every: time.Second, times: 40, trips: 0,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			b := newBreaker(clock)
			trips := 0
			for n := range tc.times {
				if b.wrote(key, []apply.FieldDiff{tc.write(n)}) != nil {
					trips++
				}
				clock.SetTime(clock.Now().Add(tc.every))
			}
			if trips != tc.trips {
				t.Errorf("%s\n%d trips, want %d", tc.reason, trips, tc.trips)
			}
			if resting := b.resting(key) > 0; resting != (tc.trips > 0) {
				t.Errorf("left alone: %v", resting)
			}
		})
	}
}

func TestBreakerRestsLonger(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	b := newBreaker(clock)
	key := apply.Key{Name: "c"}
	for _, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		var tripped *loop
		for tripped == nil {
			tripped = b.wrote(key, []apply.FieldDiff{{Path: "a", From: "theirs", To: "ours"}})
		}
		if got := b.resting(key); got != want || tripped.rest != want {
			t.Errorf("left alone for %s, told %s, want %s", got, tripped.rest, want)
		}
		clock.SetTime(clock.Now().Add(want))
		if got := b.resting(key); got != 0 {
			t.Errorf("still left alone for %s", got)
		}
	}
	clock.SetTime(clock.Now().Add(3 * restAtMost))
	b.wrote(apply.Key{Name: "other"}, nil)
	if len(b.children) != 1 {
		t.Errorf("%d children are remembered, want the one that was just written", len(b.children))
	}
}
