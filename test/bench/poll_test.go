package bench

import (
	"testing"
	"time"
)

// poll calls step at that pace, at least once, until it says that it is done.
func poll(tb testing.TB, pace, timeout time.Duration, step func() (done bool, err error)) {
	tb.Helper()
	deadline, ticks := time.Now().Add(timeout), time.NewTicker(pace)
	defer ticks.Stop()
	for {
		done, err := step()
		if done {
			return
		}
		if time.Now().After(deadline) {
			tb.Fatalf("not within %s: %v", timeout, err)
		}
		<-ticks.C
	}
}
