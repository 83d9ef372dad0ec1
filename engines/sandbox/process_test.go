package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
)

// TestKillAfter stops kills just as they begin. After that it must be certain whether the worker is
// killed: a late kill would hit the next call.
func TestKillAfter(t *testing.T) {
	ended := exec.Command("/proc/self/exe", "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Skipf("there is no process to take: %v", err)
	}
	all := make([]*process, 15000)
	saw := make([]string, len(all))
	for i := range all {
		all[i] = &process{command: ended}
		began, left := time.Now(), 20*time.Microsecond
		inTime := all[i].killAfter(left, reasonDeadline)
		for time.Since(began) < left+time.Duration(i%200)*100*time.Nanosecond { // The kill is about to begin, or has begun.
		}
		inTime()
		saw[i] = all[i].pendingKill()
	}
	for i, p := range all {
		if p.pendingKill() != saw[i] {
			t.Fatalf("process %d: it was %q when the kill was called off, and is %q now", i, saw[i], p.pendingKill())
		}
	}
	calledOff := &process{command: ended}
	calledOff.killAfter(time.Hour, reasonDeadline)()
	if why := calledOff.pendingKill(); why != "" {
		t.Errorf("a kill that was called off long before is %q", why)
	}
}

// TestWorkerStartsNoWorker starts a worker in a process that was started as one and does not run it, as a test binary without TestMain is.
func TestWorkerStartsNoWorker(t *testing.T) {
	before := os.Args
	t.Cleanup(func() { os.Args = before })
	os.Args = []string{before[0], worker.Argument}
	if _, _, err := new(process).launch(Config{Command: defaultCommand()}); !errors.Is(err, errNotAWorker) {
		t.Errorf("it is started: %v", err)
	}
}
