package owntime

import (
	"os/exec"
	"runtime"
	"syscall"
	"testing"
	"time"
)

func TestStateOfThreads(t *testing.T) {
	for threads, want := range map[string]state{
		"SSS": sleeping, "SRS": running, "SD": running, "TTT": stopped, "tS": stopped, "": unknown,
	} {
		if got := stateOfThreads(threads); got != want {
			t.Errorf("threads %q: state %d, want %d", threads, got, want)
		}
	}
}

// TestOtherProcess checks what counts as the time of another process: that in which it sleeps, and none in which it is stopped.
func TestOtherProcess(t *testing.T) {
	sleeper := exec.Command("sleep", "3600")
	if err := sleeper.Start(); err != nil {
		t.Skipf("there is no process to look at: %v", err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	pid := sleeper.Process.Pid
	within := func(limit, outer time.Duration) End {
		over := make(chan End, 1)
		Start(pid, limit, outer, func(e End) { over <- e })
		return <-over
	}
	if end := within(200*time.Millisecond, time.Hour); end.Own < 200*time.Millisecond || end.Stopped {
		t.Errorf("it sleeps: %+v, want its time to be over", end)
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for stateOf(pid) != stopped {
		runtime.Gosched()
	}
	if end := within(200*time.Millisecond, time.Second); end.Own >= 200*time.Millisecond || end.Elapsed < time.Second || !end.Stopped {
		t.Errorf("it is stopped: %+v, want that none of the time is its own", end)
	}
}
