package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// meter measures what this process and its workers used since the last look. The kernel counts in hundredths of a second.
type meter struct {
	before map[int]bool // Workers that were there when it began.
	last   time.Duration
}

func newMeter(tb testing.TB) *meter {
	tb.Helper()
	w := &meter{before: map[int]bool{}}
	for pid := range workerTimes(tb) {
		w.before[pid] = true
	}
	w.cpu(tb)
	return w
}

// cpu returns the processor time of this process and of the workers since then that live, since the last look.
func (w *meter) cpu(tb testing.TB) time.Duration {
	tb.Helper()
	var own unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &own); err != nil {
		tb.Fatal(err)
	}
	all := time.Duration(own.Utime.Nano() + own.Stime.Nano())
	for pid, used := range workerTimes(tb) {
		if !w.before[pid] {
			all += used
		}
	}
	since := all - w.last
	w.last = all
	return since
}

// largest returns the memory of the worker that has most, without the binary, in bytes.
func (w *meter) largest(tb testing.TB) int {
	tb.Helper()
	most := 0
	for pid := range workerTimes(tb) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil || w.before[pid] {
			continue
		}
		var size, pages, shared int
		if _, err := fmt.Sscan(string(text), &size, &pages, &shared); err == nil {
			most = max(most, (pages-shared)*os.Getpagesize())
		}
	}
	return most
}

// workerTimes returns the processor time of each child of this process.
func workerTimes(tb testing.TB) map[int]time.Duration {
	tb.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		tb.Fatal(err)
	}
	all := map[int]time.Duration{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // It has ended.
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if parent, _ := strconv.Atoi(fields[1]); parent != os.Getpid() {
			continue
		}
		user, _ := strconv.Atoi(fields[11])
		system, _ := strconv.Atoi(fields[12])
		all[pid] = time.Duration(user+system) * 10 * time.Millisecond
	}
	return all
}
