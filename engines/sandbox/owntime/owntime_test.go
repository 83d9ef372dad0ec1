package owntime

import (
	"testing"
	"time"
)

func TestUsage(t *testing.T) {
	const ms = time.Millisecond
	cases := map[string]struct {
		reason           string
		passed, computed time.Duration
		state            state
		own, elapsed     time.Duration
	}{
		"computes":        {"its own time", 100 * ms, 95 * ms, running, 95 * ms, 100 * ms},
		"two threads":     {"collecting garbage beside the script is not slower than the wall", 100 * ms, 180 * ms, running, 100 * ms, 100 * ms},
		"waits for a CPU": {"the machine takes that time", 100 * ms, 4 * ms, running, 4 * ms, 100 * ms},
		"sleeps":          {"nothing takes that time", 100 * ms, 1 * ms, sleeping, 100 * ms, 100 * ms},
		"stopped":         {"it could not use the time", 100 * ms, 0, stopped, 0, 100 * ms},
		"not reported":    {"then it is the time of the wall", 100 * ms, 0, unknown, 100 * ms, 100 * ms},
		"nobody looked":   {"this process was stopped: the other one may have waited for it", time.Hour, 1 * ms, sleeping, 200 * ms, 200 * ms},
		"computed on":     {"nobody looked, but the time is known", time.Hour, time.Minute, running, time.Minute, time.Minute},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			u := usage{}
			u.add(c.passed, c.computed, c.state)
			if want := (usage{c.own, c.elapsed, c.state}); u != want {
				t.Errorf("%s: %+v, want %+v", c.reason, u, want)
			}
		})
	}
}

// TestLimit checks that a limit on this process, which computes, is over after about that time, and not after Stop.
func TestLimit(t *testing.T) {
	const limit = 300 * time.Millisecond
	over := make(chan End, 1)
	stoppedBefore := Start(0, limit, 0, func(End) { t.Error("it was stopped, and is over") })
	stoppedBefore.Stop()
	began := time.Now()
	Start(0, limit, 0, func(e End) { over <- e })
	for n := 0; ; n++ {
		select {
		case end := <-over:
			if took := time.Since(began); took < limit || end.Own < limit || end.Elapsed < limit || end.Stopped {
				t.Errorf("%+v after %v, want a limit of %v", end, took, limit)
			}
			return
		default:
		}
	}
}

// TestExpire checks that a limit can be ended before its time, once.
func TestExpire(t *testing.T) {
	times := 0
	l := Start(0, time.Hour, 0, func(End) { times++ })
	l.Expire()
	l.Expire()
	l.Stop()
	if times != 1 {
		t.Errorf("it was over %d times", times)
	}
}
