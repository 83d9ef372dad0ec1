package worker

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ProgramPages are the addresses at which the file of this program is mapped, where it is never written.
type ProgramPages struct{ ranges [][2]uintptr }

// FindProgramPages returns the ProgramPages of this process. It reads /proc, so it must be called before Landlock is applied. There are
// none if /proc can't be read.
func FindProgramPages() ProgramPages {
	own, err := os.Readlink("/proc/self/exe")
	maps, mapsErr := os.ReadFile("/proc/self/maps")
	if err != nil || mapsErr != nil {
		return ProgramPages{}
	}
	return programPages(maps, own)
}

// programPages returns where the program at a path is mapped, of the text of /proc/self/maps.
func programPages(maps []byte, path string) (p ProgramPages) {
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // addresses permissions offset device inode path
		if len(fields) < 6 || strings.Join(fields[5:], " ") != path || strings.Contains(fields[1], "w") {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		start, err := strconv.ParseUint(from, 16, 64)
		end, endErr := strconv.ParseUint(to, 16, 64)
		if err == nil && endErr == nil && start < end {
			p.ranges = append(p.ranges, [2]uintptr{uintptr(start), uintptr(end)})
		}
	}
	return p
}

// Release takes the pages from the process until they are needed again, which most of those that its start has needed never are: a
// program reads half of its file to start. They stay in the system's page cache.
func (p ProgramPages) Release() {
	for _, r := range p.ranges {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r[0], r[1]-r[0], unix.MADV_DONTNEED) // Without it more memory is mapped, and no harm is done.
	}
}
