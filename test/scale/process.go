package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// tick is the unit in which the kernel counts the time of processes: hundredths of a second on all architectures.
const tick = 10 * time.Millisecond

// times are the processor times of a process, and of its children that have ended and were waited for.
type times struct{ own, ended time.Duration }

// parseStat reads /proc/PID/stat.
func parseStat(text []byte) (times, error) {
	// The second field is the name of the program, which may have blanks and brackets.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return times{}, fmt.Errorf("stat of a process has %d fields", len(fields))
	}
	var ticks [4]int
	for i := range ticks {
		n, err := strconv.Atoi(fields[11+i])
		if err != nil {
			return times{}, fmt.Errorf("stat of a process: %w", err)
		}
		ticks[i] = n
	}
	return times{own: time.Duration(ticks[0]+ticks[1]) * tick, ended: time.Duration(ticks[2]+ticks[3]) * tick}, nil
}

// memory is that of a process, in bytes.
type memory struct{ resident, peak, anonymous int64 }

// parseStatus reads /proc/PID/status.
func parseStatus(text []byte) (memory, error) {
	var m memory
	for key, into := range map[string]*int64{"VmRSS": &m.resident, "VmHWM": &m.peak, "RssAnon": &m.anonymous} {
		at := bytes.Index(text, []byte("\n"+key+":"))
		if at < 0 {
			return memory{}, errors.New("status of a process has no " + key)
		}
		var kibibytes int64
		if _, err := fmt.Sscan(string(text[at+len(key)+2:]), &kibibytes); err != nil {
			return memory{}, fmt.Errorf("status of a process: %s: %w", key, err)
		}
		*into = kibibytes << 10
	}
	return m, nil
}

func readTimes(pid int) (times, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return times{}, err
	}
	return parseStat(text)
}

func readMemory(pid int) (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return memory{}, err
	}
	return parseStatus(text)
}

// resetPeak lets a peak begin anew at what the process has now.
func resetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// descendants returns the children of a process and theirs. A process that has ended meanwhile has none.
func descendants(pid int) []int {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil
	}
	var all []int
	for _, thread := range threads {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%s/children", pid, thread.Name()))
		if err != nil {
			continue
		}
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}
