package parent

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestShortResyncs has a parent resynced as soon as its hook asks for, for a minute.
func TestShortResyncs(t *testing.T) {
	cases := map[string]struct {
		reason      string
		after       time.Duration
		least, most int
	}{
		"Tenth":  {"Short ones pass at first, and then come once in a second.", 100 * time.Millisecond, 60, 60 + shortResyncs},
		"Least":  {"Even the shortest.", time.Millisecond, 60, 60 + shortResyncs},
		"Nearly": {"What is nearly a second is not slowed down before the burst is over.", 900 * time.Millisecond, 60, 67},
		"Second": {"A second is not short.", time.Second, 60, 60},
		"Long":   {"Nor is what is longer.", 2500 * time.Millisecond, 24, 24},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			p := &pass{key: controller.Key{Name: "p"}, shared: &shared{resyncs: newRateLimiter[controller.Key](clock, shortResyncs, resyncInterval)}}
			syncs, soon := 0, 0
			for clock.Now().Before(time.Unix(60, 0)) {
				wait := p.limitResync(tc.after)
				if wait == tc.after && syncs == soon {
					soon++
				}
				if syncs++; wait < tc.after || wait > max(tc.after, resyncInterval) {
					t.Fatalf("%s\nresync %d comes after %s", tc.reason, syncs, wait)
				}
				clock.SetTime(clock.Now().Add(wait))
			}
			if syncs < tc.least || syncs > tc.most || soon < min(shortResyncs, syncs) {
				t.Errorf("%s\n%d syncs in a minute, the first %d as asked for, want %d to %d", tc.reason, syncs, soon, tc.least, tc.most)
			}
			if wait := (&pass{key: controller.Key{Name: "other"}, shared: p.shared}).limitResync(tc.after); wait != tc.after {
				t.Errorf("another parent is resynced after %s", wait)
			}
		})
	}
}

// TestRateLimiterForgets checks that a key which does nothing takes no memory, and has its burst again.
func TestRateLimiterForgets(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := newRateLimiter[string](clock, 3, time.Second)
	for range 10 { // Far more than there is room for is no debt.
		l.take("a")
	}
	if wait := l.take("a"); wait != time.Second {
		t.Errorf("the next one comes after %s", wait)
	}
	for range 3 {
		clock.SetTime(clock.Now().Add(5 * time.Second))
		l.take("b")
	}
	if n := l.full.Len(); n != 2 { // In both generations.
		t.Errorf("%d keys are known", n)
	}
	if wait := l.take("a"); wait != 0 {
		t.Errorf("after a pause the first one comes after %s", wait)
	}
	l.forget("b")
	if n := l.full.Len(); n != 1 {
		t.Errorf("%d keys are known once one is gone", n)
	}
}
