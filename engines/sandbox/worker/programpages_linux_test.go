package worker

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

func TestProgramPages(t *testing.T) {
	const maps = `00400000-01200000 r-xp 00000000 08:01 11  /app/a program
Rss:               14336 kB
Anonymous:             0 kB
01200000-02400000 r--p 00e00000 08:01 11  /app/a program
Anonymous:             0 kB
02400000-02500000 r--p 02000000 08:01 11  /app/a program
Anonymous:            12 kB
02500000-02600000 rw-p 02100000 08:01 11  /app/a program
Anonymous:             0 kB
c000000000-c000400000 rw-p 00000000 00:00 0
Anonymous:             0 kB
7f0000000000-7f0000001000 r-xp 00000000 08:01 12  /app/other
Anonymous:             0 kB
7ffd00000000-7ffd00001000 r-xp 00000000 00:00 0   [vdso]
Anonymous:             0 kB
VmFlags: rd ex mr mw me de sd
`
	got := programPages([]byte(maps), "/app/a program").ranges
	if want := [][2]uintptr{{0x400000, 0x1200000}, {0x1200000, 0x2400000}}; fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%x, want %x: what was written would be lost, and nothing else is of the program", got, want)
	}
}

// TestReleaseProgramPages checks that a program goes on, with less memory, when its pages are taken from it.
func TestReleaseProgramPages(t *testing.T) {
	pages := FindProgramPages()
	if len(pages.ranges) == 0 {
		t.Skip("/proc can't be read")
	}
	before := residentFile(t)
	pages.Release()
	if after := residentFile(t); after >= before {
		t.Errorf("%d kB of files were resident, and %d are", before, after)
	}
}

// residentFile returns how many kB of files are mapped and in memory.
func residentFile(t *testing.T) (kB int) {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), "RssFile:")
	if _, err := fmt.Sscan(rest, &kB); err != nil {
		t.Skip("the system does not tell")
	}
	return kB
}
