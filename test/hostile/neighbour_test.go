//go:build linux

package hostile

import (
	"testing"
	"time"
)

const (
	// attackers is how many calls of the hostile definition are under way at any time:
	// more than there are workers for everybody.
	attackers = 3
	// spell is how long is measured at once, and patience how long an attack may run.
	spell, patience = 400 * time.Millisecond, 100 * time.Millisecond
	// noise is what this machine's other work may add to a call, and starts how many
	// starts of a worker may, where attacks end workers: 11 ms of a processor each, and
	// many times that on a machine that has other things to do.
	noise, starts = 20 * time.Millisecond, 2
	// attempts is how often a pair of spells is measured before it counts as a failure.
	attempts = 8
)

// busy is what an innocent definition does that has much to compute.
var busy = one("JavaScript", "sync.js", `export function sync() { let n = 0; for (let i = 0; i < 1e6; i++) n += i % 7; return {n} }`)

// neighbours are attacks of each way to be stopped: by an interrupt, by a kill, and by
// their own death.
var neighbours = []string{
	"loop-for.js", "native-index-of.js", "memory-objects.js", "memory-repeat-instant.js", "stack-json-parse.js",
	"loop-comprehension.jsonnet", "native-sort.jsonnet", "memory-doubling.jsonnet",
	"loop-nested-map.cel", "native-doubling.cel", "memory-doubling-text.cel",
}

// TestNeighbours calls an innocent definition while another one attacks. Its p99 must be
// at most double of what it is beside a definition that is busy with innocent work, and
// noise and starts: both have the same processors to share, so that only what an attack does to
// the pool is left. The two are measured one after the other, and again if they fail,
// because somebody else may use the machine during one and not the other: a pool that
// is not fair to its definitions fails every time: by the time that attacks may take, or
// for good.
func TestNeighbours(t *testing.T) {
	if raceDetector {
		t.Skip("the race detector changes what costs what")
	}
	all := map[string]attack{}
	for _, a := range corpus(t, canary{}) {
		all[a.name] = a
	}
	for _, name := range neighbours {
		t.Run(name, func(t *testing.T) {
			s := newSharedPool(t)
			for n := range attempts {
				beside := s.measure(t, busy)
				under := s.measure(t, all[name])
				start := startOfWorker(t)
				t.Logf("busy neighbour: %v; attack: %v; start of a worker: %v", beside, under, start)
				most := 2*beside.p99 + noise + starts*start
				if under.p99 <= most {
					return
				}
				if n == attempts-1 {
					t.Errorf("p99 %v is more than %v", under.p99, most)
				}
			}
		})
	}
}
