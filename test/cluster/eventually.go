package cluster

import (
	"testing"
	"time"
)

// pollInterval is how often a condition is looked at: often enough that waiting adds little to a test.
const pollInterval = 20 * time.Millisecond

// Eventually calls check until it returns no error, and fails the test with its last error if that takes too long.
func Eventually(t testing.TB, timeout time.Duration, check func() error) {
	t.Helper()
	err := poll(timeout, func() (bool, error) {
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
	err := poll(duration, func() (bool, error) {
		err := check()
		return err != nil, err
	})
	if err != nil {
		t.Fatalf("no longer after %s: %v", time.Since(start).Round(time.Millisecond), err)
	}
}

// poll calls step until it is done or the time is over, at least once, and returns the error of the last call.
func poll(timeout time.Duration, step func() (done bool, err error)) error {
	deadline := time.Now().Add(timeout)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		done, err := step()
		if done || time.Now().After(deadline) {
			return err
		}
		<-ticker.C
	}
}
