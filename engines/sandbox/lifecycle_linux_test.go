package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox"
)

// children returns the running child processes of a process.
func children(t *testing.T, parent int) []int {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	if err != nil {
		t.Fatal(err)
	}
	var all []int
	for _, list := range lists {
		text, _ := os.ReadFile(list) // The thread may have ended.
		for field := range strings.FieldsSeq(string(text)) {
			pid, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, pid)
		}
	}
	return all
}

// eventually waits until a condition is true.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("never: %s", what)
		}
	}
}

// newPoolOnly starts a pool and returns it with a function that lists its processes.
func newPoolOnly(t *testing.T, config sandbox.Config) (*sandbox.Pool, func() []int) {
	before := children(t, os.Getpid())
	return newPool(t, config), func() []int {
		return slices.DeleteFunc(children(t, os.Getpid()), func(pid int) bool { return slices.Contains(before, pid) })
	}
}

func TestKilledFromOutside(t *testing.T) {
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1})
	program := compiled(t, pool, `export function sync() { for (;;); }`)
	failed := make(chan error, 1)
	go func() { _, err := program.Run(t.Context(), request(nil)); failed <- err }()
	busy := 0
	eventually(t, "a worker is at it", func() bool {
		for _, pid := range workers() {
			if ticks(pid) > 20 {
				busy = pid
			}
		}
		return busy > 0
	})
	if err := syscall.Kill(busy, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	wantError(t, <-failed, engines.Failed, "script worker crashed: signal: killed")
	response, err := compiled(t, pool, alive).Run(t.Context(), request("again"))
	if err != nil || response.Body != "again" {
		t.Errorf("after that: %v, error %v", response.Body, err)
	}
}

// TestExitBeforeCall has every worker exit after its answer. The next call gets another one.
func TestExitBeforeCall(t *testing.T) {
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 1})
	program, echo := probed(t, pool, "die later"), compiled(t, pool, alive)
	for range 10 {
		before := workers()
		if _, err := program.Run(t.Context(), request(nil)); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the worker dies", func() bool {
			return slices.ContainsFunc(before, func(pid int) bool { return !slices.Contains(workers(), pid) })
		})
		if response, err := echo.Run(t.Context(), request("a")); err != nil || response.Body != "a" {
			t.Errorf("the other program answered %v, error %v", response.Body, err)
		}
	}
}

func TestClose(t *testing.T) {
	pool, workers := newPoolOnly(t, sandbox.Config{Workers: 2})
	hanging, echo := probed(t, pool, "hang"), compiled(t, pool, alive)
	failed := make(chan error, 5)
	for range cap(failed) {
		go func() { _, err := hanging.Run(t.Context(), request(nil)); failed <- err }()
	}
	eventually(t, "workers are busy", func() bool { return len(workers()) == 3 })
	pool.Close()
	if left := workers(); len(left) > 0 {
		t.Errorf("workers %v are left", left)
	}
	for range cap(failed) {
		wantError(t, <-failed, engines.Failed, "the script workers have been stopped")
	}
	_, err := echo.Run(t.Context(), request(nil))
	wantError(t, err, engines.Failed, "the script workers have been stopped")
	pool.Close() // Idempotent.
}

// TestHostKilled kills a host with SIGKILL.
func TestHostKilled(t *testing.T) {
	host := exec.Command("/proc/self/exe", hostArgument)
	out, err := host.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("the host said %q, error %v", line, err)
	}
	var workers []int
	eventually(t, "the host has two workers", func() bool {
		workers = children(t, host.Process.Pid)
		return len(workers) == 2
	})
	if err := host.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = host.Wait() // The error is that it was killed.
	for _, pid := range workers {
		eventually(t, "the worker ends", func() bool { return hasExited(pid) })
	}
}

// ticks returns the CPU time of a process in hundredths of a second.
func ticks(pid int) int {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 12 {
		return 0
	}
	n, _ := strconv.Atoi(fields[11])
	return n
}

// hasExited reports whether a process does not exist or is a zombie.
func hasExited(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}
