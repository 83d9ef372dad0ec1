package sandbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/sandbox/owntime"
)

func TestExitReason(t *testing.T) {
	cases := map[string]struct {
		exit workerExit
		want string
	}{
		"by the host":           {workerExit{killReason: reasonDeadline, stderr: "fatal error: out of memory"}, reasonDeadline},
		"the heap":              {workerExit{stderr: "fatal error: runtime: out of memory\n\ngoroutine 1"}, reasonMemory},
		"a mapping":             {workerExit{stderr: "runtime: cannot allocate memory"}, reasonMemory},
		"a thread":              {workerExit{stderr: "runtime: failed to create new OS thread (have 6 already; errno=11)"}, reasonMemory},
		"a thread, by C":        {workerExit{stderr: "runtime/cgo: pthread_create failed: Resource temporarily unavailable"}, reasonMemory},
		"a fault":               {workerExit{stderr: "SIGSEGV: segmentation violation\nPC=0x1"}, reasonMemory},
		"the stack":             {workerExit{stderr: "runtime: goroutine stack exceeds 67108864-byte limit"}, reasonStack},
		"a panic":               {workerExit{stderr: "panic: runtime error: index out of range", status: "exit status 2"}, reasonCrash},
		"a panic about a fault": {workerExit{stderr: "panic: runtime error\n[signal SIGSEGV: segmentation violation"}, reasonCrash},
		"nothing said":          {workerExit{status: "signal: killed"}, reasonCrash},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.exit.reason(); got != tc.want {
				t.Errorf("reason %q, want %q", got, tc.want)
			}
		})
	}
}

// TestDeadlineWithMuchMemory has the messages of workers that were killed at their deadline: what holds most of its memory limit is slow for that.
func TestDeadlineWithMuchMemory(t *testing.T) {
	const limit = 256 << 20
	cases := map[string]struct {
		reason string
		exit   workerExit
		kind   engines.Kind
		want   string
	}{
		"little":      {"a loop", workerExit{grown: 40 << 20}, engines.Timeout, "did not answer within 2.5s, and could not be interrupted: its worker was killed"},
		"cached":      {"what earlier calls left is not the script's", workerExit{grown: 230 << 20, cached: 200 << 20}, engines.Timeout, "did not answer within 2.5s"},
		"almost full": {"the limit is what to look at", workerExit{grown: 230 << 20, cached: 10 << 20}, engines.Exhausted, "the script uses more than its memory limit of 256Mi: have it hold less at once, or raise limits.memory of the script: it held about 220Mi after 2.5s"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			c.exit.killReason, c.exit.deadline = reasonDeadline, owntime.End{Own: 2500 * time.Millisecond}
			got := c.exit.err(limit)
			if got.Kind != c.kind || !strings.HasPrefix(got.Message, c.want) {
				t.Errorf("%s: %s, want %s: %s", got.Kind.Reason(), got.Message, c.kind.Reason(), c.want)
			}
		})
	}
}

// TestStarved has the ends of workers that were killed at their deadline: one that has had no time says nothing about its program.
func TestStarved(t *testing.T) {
	const limit, memory = 2 * time.Second, 256 << 20
	cases := map[string]struct {
		reason string
		exit   workerExit
		kind   engines.Kind
		want   outcome
	}{
		"late":      {"it had its time", workerExit{deadline: owntime.End{Own: limit, Elapsed: time.Minute}}, engines.Timeout, fatal},
		"starved":   {"the machine had no time for it", workerExit{deadline: owntime.End{Own: limit / 2, Elapsed: time.Minute}}, engines.Busy, inconclusive},
		"stopped":   {"it may have stopped itself", workerExit{deadline: owntime.End{Elapsed: time.Minute, Stopped: true}}, engines.Timeout, fatal},
		"exhausted": {"what it holds is the cause", workerExit{deadline: owntime.End{Own: limit}, grown: memory}, engines.Exhausted, fatal},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.exit.killReason, c.exit.limit = reasonDeadline, limit
			err := c.exit.err(memory)
			if err.Kind != c.kind || c.exit.outcome() != c.want || errors.Is(err, engines.ErrNoWorker) != (c.kind == engines.Busy) {
				t.Errorf("%s: %s: %s, outcome %d, want %s and %d", c.reason, err.Kind.Reason(), err.Message, c.exit.outcome(), c.kind.Reason(), c.want)
			}
		})
	}
}
