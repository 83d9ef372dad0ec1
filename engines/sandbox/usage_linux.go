package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
)

// usage reads how much memory a process uses.
type usage struct {
	statm *os.File
	idle  size
}

// watchUsage gives nil, which always reads zero, if the system does not tell.
func watchUsage(pid int) *usage {
	statm, err := os.Open(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return nil
	}
	u := &usage{statm: statm}
	u.idle = u.read()
	return u
}

func (u *usage) read() size {
	if u == nil {
		return size{}
	}
	var buf [128]byte
	n, _ := u.statm.ReadAt(buf[:], 0)
	fields := bytes.Fields(buf[:n]) // size resident shared text lib data dt
	if len(fields) < 6 {
		return size{}
	}
	pages := func(field int) int64 {
		n, _ := strconv.ParseInt(string(fields[field]), 10, 64)
		return n * int64(os.Getpagesize())
	}
	resident := pages(1) - pages(2)
	return size{resident: resident, kept: resident - u.idle.resident, mapped: pages(5) - u.idle.mapped}
}

func (u *usage) close() {
	if u != nil {
		u.statm.Close()
	}
}
