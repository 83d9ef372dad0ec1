package quota

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestSignals bounds a process where there are no control groups: it is stopped most of the time, and goes on once the bound is lifted.
func TestSignals(t *testing.T) {
	sleeper := exec.Command("sleep", "3600")
	if err := sleeper.Start(); err != nil {
		t.Skipf("there is no process to bound: %v", err)
	}
	defer func() {
		_ = sleeper.Process.Kill()
		_ = sleeper.Wait()
	}()
	q := &Quota{signals: newSignals()}
	if err := q.Set(0.01); err != nil {
		t.Fatal(err)
	}
	if err := q.Add(sleeper.Process.Pid); err != nil {
		t.Fatal(err)
	}
	waitForState(t, sleeper.Process.Pid, 'T')
	if err := q.Lift(); err != nil {
		t.Fatal(err)
	}
	waitForState(t, sleeper.Process.Pid, 'S')
	if err := q.Set(0.01); err != nil {
		t.Fatal(err)
	}
	waitForState(t, sleeper.Process.Pid, 'T')
	if err := q.Remove(); err != nil {
		t.Fatal(err)
	}
	waitForState(t, sleeper.Process.Pid, 'S')
}

func waitForState(t *testing.T, pid int, want byte) {
	t.Helper()
	ticker, late := time.NewTicker(time.Millisecond), time.After(20*time.Second)
	defer ticker.Stop()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		state := stat[bytes.LastIndexByte(stat, ')')+2]
		if state == want {
			return
		}
		select {
		case <-ticker.C:
		case <-late:
			t.Fatalf("its state is %c, want %c", state, want)
		}
	}
}
