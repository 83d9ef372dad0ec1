package owntime

import (
	"bytes"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime returns how long the threads of a process have computed together.
func processorTime(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED: the clock that counts nanoseconds, of a whole process.
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|scheduled, &t); err != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

// stateOf returns what the threads of another process do. This one runs, as it asks.
func stateOf(pid int) state {
	if pid == 0 {
		return running
	}
	tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return unknown
	}
	threads := make([]byte, 0, len(tasks))
	for _, task := range tasks {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/stat", pid, task.Name()))
		if at := bytes.LastIndexByte(stat, ')'); err == nil && at >= 0 && at+2 < len(stat) { // pid (name) state ...
			threads = append(threads, stat[at+2])
		}
	}
	return stateOfThreads(string(threads))
}

// stateOfThreads returns the state of a process from the letters that the system has for those of its threads.
func stateOfThreads(threads string) state {
	if threads == "" {
		return unknown
	}
	all := sleeping
	for _, thread := range threads {
		switch thread {
		case 'R', 'D':
			return running
		case 'T', 't':
			all = stopped
		}
	}
	return all
}
