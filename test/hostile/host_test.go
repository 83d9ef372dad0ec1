//go:build linux

package hostile

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/race"
)

const (
	// mayKeep is what the host may have more on its heap when all is over: what the pools
	// know of programs that were parked, and the tests' own results.
	mayKeep = 16 << 20
	// mayTake is how much more memory it may have had at any time: less than what the attacks themselves, of which so many run at
	// once, may have.
	mayTake = lanes * 64 << 20
)

// hostState is the state of this process before the attacks.
type hostState struct {
	heap       uint64
	peak       int64
	goroutines int
}

// observeHost also checks, when the test is over and its pools are closed, that no process is left.
func observeHost(t *testing.T) hostState {
	t.Helper()
	t.Cleanup(func() {
		if left := children(t); len(left) > 0 {
			t.Errorf("processes %v are left", left)
		}
	})
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // Resets the peak; where it can't, less is noticed.
	return hostState{heap: heap(), peak: status("VmHWM"), goroutines: runtime.NumGoroutine()}
}

// checkUnharmed checks that the host has not grown. It is called while the pools are open.
func (h hostState) checkUnharmed(t *testing.T) {
	t.Helper()
	kept, taken := int64(heap())-int64(h.heap), status("VmHWM")-h.peak
	t.Logf("the host keeps %d KiB more on its heap, and had %d MiB more at most; %d goroutines, %d before",
		kept>>10, taken>>20, runtime.NumGoroutine(), h.goroutines)
	if race.Enabled {
		return // It takes memory of its own.
	}
	if kept > mayKeep || taken > mayTake {
		t.Errorf("it may keep %d KiB and take %d MiB", mayKeep>>10, mayTake>>20)
	}
	if most := h.goroutines + 30*lanes; runtime.NumGoroutine() > most {
		t.Errorf("it may have %d goroutines", most)
	}
}

// heap is what is in use of the heap, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// status is a line of /proc/self/status that counts kilobytes, in bytes.
func status(name string) int64 {
	text, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, name+":"); is {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// children are the processes that this one has started, and that have not ended.
func children(t *testing.T) []string {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, list := range lists {
		text, _ := os.ReadFile(list) // The thread may have ended.
		all = append(all, strings.Fields(string(text))...)
	}
	return all
}
