package worker

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// ProgramPages are the addresses at which the file of this program is mapped, where all that is in memory is as in the file.
type ProgramPages struct{ ranges [][2]uintptr }

// FindProgramPages returns the ProgramPages of this process. It reads /proc, so it must be called before Landlock is applied. There are
// none if /proc can't be read.
func FindProgramPages() ProgramPages {
	own, err := os.Readlink("/proc/self/exe")
	maps, mapsErr := os.ReadFile("/proc/self/smaps")
	if err != nil || mapsErr != nil {
		return ProgramPages{}
	}
	return programPages(maps, own)
}

// programPages returns where the program at a path is mapped, of the text of /proc/self/smaps. It leaves out what can be written, and
// what was: the dynamic linker writes pages that can't be written later.
func programPages(maps []byte, path string) (p ProgramPages) {
	var at [2]uintptr
	isProgram := false
	for lines := bufio.NewScanner(bytes.NewReader(maps)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		switch {
		case len(fields) < 2:
		case !strings.HasSuffix(fields[0], ":"): // addresses permissions offset device inode path
			var ok bool
			at, ok = addresses(fields[0])
			isProgram = ok && len(fields) > 5 && strings.Join(fields[5:], " ") == path && !strings.Contains(fields[1], "w")
		case isProgram && fields[0] == "Anonymous:" && fields[1] == "0":
			p.ranges = append(p.ranges, at)
		}
	}
	return p
}

// addresses reads a range such as 400000-1200000.
func addresses(text string) (at [2]uintptr, ok bool) {
	from, to, _ := strings.Cut(text, "-")
	start, err := strconv.ParseUint(from, 16, 64)
	end, endErr := strconv.ParseUint(to, 16, 64)
	return [2]uintptr{uintptr(start), uintptr(end)}, err == nil && endErr == nil && start < end
}

// Release takes the pages from the process until they are needed again, which most of those that its start has needed never are: a
// program reads half of its file to start. They stay in the system's page cache.
func (p ProgramPages) Release() {
	for _, r := range p.ranges {
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, r[0], r[1]-r[0], unix.MADV_DONTNEED) // Without it more memory is mapped, and no harm is done.
	}
}
