package main

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseStat(t *testing.T) {
	got, err := parseStat([]byte("42 (a) (b c) S 1 2 3 4 5 6 7 8 9 10 120 30 7 3 20 0 12 0 900"))
	if err != nil {
		t.Fatal(err)
	}
	want := times{own: 1500 * time.Millisecond, ended: 100 * time.Millisecond}
	if got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestParseStatus(t *testing.T) {
	got, err := parseStatus([]byte("Name:\tVmRSS: 1\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\nRssAnon:\t     512 kB\n"))
	if err != nil {
		t.Fatal(err)
	}
	if want := (memory{resident: 1 << 20, peak: 2 << 20, anonymous: 512 << 10}); got != want {
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
	if _, err := readTimes(os.Getpid()); err != nil {
		t.Error(err)
	}
	m, err := readMemory(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if m.anonymous <= 0 || m.resident < m.anonymous || m.peak < m.resident {
		t.Errorf("got %+v, want anonymous ≤ resident ≤ peak", m)
	}
}

func TestLastBusy(t *testing.T) {
	begin := time.Unix(1000, 0)
	// samplesOf returns a sample for each tenth of a second, in which the host used so many ticks.
	samplesOf := func(ticks ...int) []sample {
		samples := []sample{{at: begin}}
		used := time.Duration(0)
		for i, n := range ticks {
			used += time.Duration(n) * tick
			samples = append(samples, sample{at: begin.Add(time.Duration(i+1) * sampleInterval), host: used})
		}
		return samples
	}
	for name, c := range map[string]struct {
		samples []sample
		want    time.Duration
		why     string
	}{
		"Nothing":  {samplesOf(0, 0, 0), 0, "there was nothing to do"},
		"Busy":     {samplesOf(5, 5, 0, 0), 200 * time.Millisecond, "work ends with its last tick"},
		"Stray":    {samplesOf(5, 0, 0, 0, 0, 0, 1), 100 * time.Millisecond, "an idle host wakes up now and then"},
		"Slow":     {samplesOf(0, 1, 0, 0, 1, 0), 500 * time.Millisecond, "two ticks in half a second are work"},
		"Trailing": {samplesOf(5, 1, 0, 1), 400 * time.Millisecond, "the last ticks of work"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lastBusy(c.samples).Sub(begin); got != c.want {
				t.Errorf("got %s, want %s: %s", got, c.want, c.why)
			}
		})
	}
	workers := []sample{{at: begin}, {at: begin.Add(sampleInterval), workers: 2 * tick}}
	if got := lastBusy(workers).Sub(begin); got != sampleInterval {
		t.Errorf("work of workers: got %s, want %s", got, sampleInterval)
	}
}

func TestPayload(t *testing.T) {
	for _, size := range []int{0, 1, 1500} {
		if got := payload("a", 1, size); len(got) != size {
			t.Errorf("got %d bytes, want %d", len(got), size)
		}
	}
	if payload("a", 1, 100) == payload("b", 1, 100) || payload("a", 1, 100) == payload("a", 2, 100) {
		t.Error("the payload is the same for two parents, or for two editions")
	}
	if d := cmp.Diff("a.setting-0 = \"value 0 of edition 1\"\na.set", payload("a", 1, 42)); d != "" {
		t.Error(d)
	}
}
