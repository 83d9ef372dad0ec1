// Package procfs reads what Linux counts of processes: processor time, memory and children.
package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Tick is the unit in which the kernel counts the time of processes: hundredths of a second on all architectures.
const Tick = 10 * time.Millisecond

// Times are the processor times of a process, and of its children that have ended and were waited for.
type Times struct{ Own, Ended time.Duration }

// parseStat reads /proc/PID/stat.
func parseStat(text []byte) (Times, error) {
	// The second field is the name of the program, which may have blanks and brackets.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 15 {
		return Times{}, fmt.Errorf("stat of a process has %d fields", len(fields))
	}
	var ticks [4]int
	for i := range ticks {
		n, err := strconv.Atoi(fields[11+i])
		if err != nil {
			return Times{}, fmt.Errorf("stat of a process: %w", err)
		}
		ticks[i] = n
	}
	return Times{Own: time.Duration(ticks[0]+ticks[1]) * Tick, Ended: time.Duration(ticks[2]+ticks[3]) * Tick}, nil
}

// Memory is that of a process, in bytes.
type Memory struct{ Resident, Peak, Anonymous int64 }

// parseStatus reads /proc/PID/status.
func parseStatus(text []byte) (Memory, error) {
	var m Memory
	for key, into := range map[string]*int64{"VmRSS": &m.Resident, "VmHWM": &m.Peak, "RssAnon": &m.Anonymous} {
		at := bytes.Index(text, []byte("\n"+key+":"))
		if at < 0 {
			return Memory{}, errors.New("status of a process has no " + key)
		}
		var kibibytes int64
		if _, err := fmt.Sscan(string(text[at+len(key)+2:]), &kibibytes); err != nil {
			return Memory{}, fmt.Errorf("status of a process: %s: %w", key, err)
		}
		*into = kibibytes << 10
	}
	return m, nil
}

// ReadTimes returns the processor times of a process.
func ReadTimes(pid int) (Times, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Times{}, err
	}
	return parseStat(text)
}

// ReadMemory returns the memory of a process.
func ReadMemory(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, err
	}
	return parseStatus(text)
}

// ResetPeak lets a peak begin anew at what the process has now.
func ResetPeak(pid int) error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", pid), []byte("5"), 0)
}

// Descendants returns the children of a process and theirs. A process that has ended meanwhile has none.
func Descendants(pid int) []int {
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
				all = append(append(all, child), Descendants(child)...)
			}
		}
	}
	return all
}
