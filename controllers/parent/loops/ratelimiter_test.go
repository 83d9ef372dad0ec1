package loops

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// TestRateLimiterForgets checks that a key which does nothing takes no memory, and has its burst again.
func TestRateLimiterForgets(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	l := NewRateLimiter[string](clock, 3, time.Second)
	for range 10 { // Far more than there is room for is no debt.
		l.Take("a")
	}
	if wait := l.Take("a"); wait != time.Second {
		t.Errorf("the next one comes after %s", wait)
	}
	for range 3 {
		clock.SetTime(clock.Now().Add(5 * time.Second))
		l.Take("b")
	}
	if n := l.full.Len(); n != 2 { // In both generations.
		t.Errorf("%d keys are known", n)
	}
	if wait := l.Take("a"); wait != 0 {
		t.Errorf("after a pause the first one comes after %s", wait)
	}
	l.Forget("b")
	if n := l.full.Len(); n != 1 {
		t.Errorf("%d keys are known once one is gone", n)
	}
}
