package procfs

import (
	"os"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("42 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 120 30 7 3 20 0 12 0 900"))
	if err != nil {
		t.Fatal(err)
	}
	want := Times{Own: 1500 * time.Millisecond, Ended: 100 * time.Millisecond}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte("Name:\tVmRSS: 1\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t     512 kB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (Memory{Resident: 1 << 20, Peak: 2 << 20, Anonymous: 512 << 10}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestParseErrors checks that what is no such file is an error, not a zero.
func TestParseErrors(t *testing.T) {
	for _, text := range []string{"", "1 (a) S", "1 (a) S 1 2 3 4 5 6 7 8 9 10 x 30 7 3 20"} {
		if got, err := parseStat([]byte(text)); err == nil {
			t.Errorf("stat %q is %v, want an error", text, got)
		}
	}
	for _, text := range []string{"", "Name:\ta\nVmRSS:\t1 kB\nRssAnon:\t1 kB\n", "Name:\ta\nVmRSS:\tx kB\nVmHWM:\t1 kB\nRssAnon:\t1 kB\n"} {
		if got, err := parseStatus([]byte(text)); err == nil {
			t.Errorf("status %q is %v, want an error", text, got)
		}
	}
}

// TestReadOwn reads what the kernel says of this process.
func TestReadOwn(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc: it can be measured only on Linux")
	}
	if _, err := ReadTimes(os.Getpid()); err != nil {
		t.Error(err)
	}
	m, err := ReadMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if m.Anonymous <= 0 || m.Resident < m.Anonymous || m.Peak < m.Resident {
		t.Errorf("got %+v, want anonymous ≤ resident ≤ peak", m)
	}
}
