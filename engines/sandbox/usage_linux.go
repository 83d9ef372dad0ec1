package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// usage reads the memory use of a process.
type usage struct {
	statm    *os.File
	baseline memoryUse
}

// openUsage returns nil if the system does not provide the figures. A nil *usage reads zero.
func openUsage(pid int) *usage {
	statm, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return nil
	}
	u := &usage{statm: statm}
	u.baseline = u.read()
	return u
}

func (u *usage) read() memoryUse {
	if u == nil {
		return memoryUse{}
	}
	var buf [128]byte
	n, _ := u.statm.ReadAt(buf[:], 0)
	fields := bytes.Fields(buf[:n]) // size resident shared text lib data dt
	if len(fields) < 6 {
		return memoryUse{}
	}
	pages := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64)
		return n * int64(os.Getpagesize())
	}
	resident := pages(1) - pages(2)
	return memoryUse{resident: resident, grown: resident - u.baseline.resident, mapped: pages(5) - u.baseline.mapped}
}

func (u *usage) close() {
	if u != nil {
		u.statm.Close()
	}
}
