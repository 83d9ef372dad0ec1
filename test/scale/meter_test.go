package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/test/procfs"
)

func TestLastBusy(t *testing.T) {
	begin := time.Unix(1000, 0)
	// samplesOf returns a sample for each tenth of a second, in which the host used so many ticks.
	samplesOf := func(ticks ...int) []sample {
		samples := []sample{{at: begin}}
		used := time.Duration(0)
		for i, n := range ticks {
			used += time.Duration(n) * procfs.Tick
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
		"Busy":     {samplesOf(5, 5, 0, 0), 200 * time.Millisecond, "work ends with its last procfs.Tick"},
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
	workers := []sample{{at: begin}, {at: begin.Add(sampleInterval), workers: 2 * procfs.Tick}}
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
