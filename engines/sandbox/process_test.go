package sandbox

import (
	"os/exec"
	"testing"
	"time"
)

// TestKillAfter calls kills off as they begin. Once that is done it has to be clear
// whether there is one: it must not hit whoever gets the worker next.
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
		for time.Since(began) < left+time.Duration(i%200)*100*time.Nanosecond { // The kill begins meanwhile, or is about to.
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
