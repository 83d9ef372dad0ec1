package cluster

import (
	"testing"
	"time"
)

// pollInterval is how often a condition is looked at: often enough that waiting adds little to a test.
const pollInterval = 20 * time.Millisecond

// A look is a request, and takes processor time from what is waited for. So a wait for a condition looks less often the longer it lasts: it
// grows by an eighth at most, and by no more than longestPollInterval.
const longestPollInterval = 100 * time.Millisecond

// growingInterval returns the time until the next look of a wait that has lasted for waited.
func growingInterval(waited time.Duration) time.Duration {
	return min(max(pollInterval, waited/8), longestPollInterval)
}

// sameInterval returns the time until the next look of what must see all that happens.
func sameInterval(time.Duration) time.Duration { return pollInterval }

// Eventually calls check until it returns no error, and fails the test with its last error if that takes too long.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	eventually(t, timeout, growingInterval, check)
}

// EventuallySteady is Eventually for a check that counts its calls: it calls check as often at the end as in the beginning.
func EventuallySteady(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	eventually(t, timeout, sameInterval, check)
}

func eventually(t testing.TB, timeout time.Duration, interval func(time.Duration) time.Duration, check func() error) {
	t.Helper()
	err := poll(timeout, interval, func() (bool, error) {
		err := check()
		return err == nil, err
	})
	if err != nil {
		t.Fatalf("not within %s: %v", timeout, err)
	}
}

// Consistently calls check for as long as duration and fails the test with its first error.
func Consistently(t testing.TB, duration time.Duration, check func() error) {
	t.Helper()
	start := time.Now()
	err := poll(duration, sameInterval, func() (bool, error) {
		err := check()
		return err != nil, err
	})
	if err != nil {
		t.Fatalf("no longer after %s: %v", time.Since(start).Round(time.Millisecond), err)
	}
}

// poll calls step until it is done or the time is over, at least once, and returns the error of the last call.
func poll(timeout time.Duration, interval func(waited time.Duration) time.Duration, step func() (done bool, err error)) error {
	start := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		<-timer.C
		done, err := step()
		waited := time.Since(start)
		if done || waited > timeout {
			return err
		}
		timer.Reset(interval(waited))
	}
}
