package sandbox

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// TestChoose has a pool of three workers at most. A worker is written as its trust domain, or - for a new
// one, with a * if it is busy, an ! if it is ending, and a ~ if it has not been of the domain for long. A
// waiter is written as its domain, which is its owner too.
func TestChoose(t *testing.T) {
	cases := map[string]struct {
		reason, workers, waiters, want string
		share                          bool
	}{
		"own":              {"a worker of the domain is preferred", "- a b", "a", "a to a", false},
		"new":              {"a new one joins the domain", "- b", "a", "- to a", false},
		"room":             {"nobody is replaced while another worker can be started", "b c", "a", "", false},
		"full":             {"the one that was idle for longest is replaced", "b c d", "a", "b ends: domain", false},
		"busy":             {"but not if it is busy", "b* c d", "a", "c ends: domain", false},
		"replaced already": {"one is enough for one", "b! c d", "a", "", false},
		"two of them":      {"and not for two", "b! c d", "a e", "c ends: domain", false},
		"waits":            {"a worker whose domain goes on is left to it for a while", "b~ c* d*", "a b", "b to b", false},
		"comes back":       {"it may come back at once", "b~ c* d*", "a", "wait 2ms", false},
		"waits no longer":  {"and then makes room for who waits for longer", "b c* d*", "a b", "b ends: domain", false},
		"not for it":       {"unless there will be room anyway", "b c*! d*", "a b", "b to b", false},
		"in turn":          {"who waits for longer goes first", "- b", "b a", "b to b", false},
		"nobody":           {"idle workers are kept", "b c d", "", "", false},
		"shared":           {"workers of no domain are for all", "- -* -*", "a b", "- to a", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			p := &Pool{config: Config{Workers: 2, ShareWorkers: c.share}, queue: newQueue(), processes: map[*process]bool{}}
			for i, text := range strings.Fields(c.workers) {
				w := &process{slot: i, programs: newProgramCache(), objects: newObjectCache(), idleSince: now.Add(time.Duration(i)*time.Second - time.Minute)}
				if domain := strings.Trim(text, "*!~"); domain != "-" {
					w.join(domain)
				}
				if w.domainSince = now.Add(-timeSlice); strings.Contains(text, "~") {
					w.domainSince, w.idleSince = now, now
				}
				if strings.Contains(text, "!") {
					w.killReason = reasonDomain
				}
				p.processes[w] = !strings.ContainsAny(text, "*!")
			}
			for _, domain := range strings.Fields(c.waiters) {
				p.queue.push(&waiter{flow: flow{owner: domain}, program: &program{name: domain, domain: p.config.domainOf(domain)}, preferred: -1})
			}
			got := ""
			switch c := p.choose(now); {
			case c.wait > 0:
				got = "wait " + c.wait.String()
			case c.worker == nil:
			case c.waiter == nil:
				got = c.worker.domain + " ends: " + c.reason
			case c.worker.assigned:
				got = c.worker.domain + " to " + c.waiter.owner
			default:
				got = "- to " + c.waiter.owner
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestStarved checks which errors say that there was no worker: those of calls that had less time than they had waited for one.
func TestStarved(t *testing.T) {
	for name, c := range map[string]struct {
		kind        engines.Kind
		waited, ran time.Duration
		want        bool
	}{
		"late":          {engines.Timeout, 2, 1, true},
		"in time":       {engines.Timeout, 1, 2, false},
		"another error": {engines.Failed, 2, 1, false},
	} {
		if got := starved(&engines.Error{Kind: c.kind}, c.waited, c.ran); errors.Is(got, engines.ErrNoWorker) != c.want || got.Kind != c.kind {
			t.Errorf("%s: %#v, want one that is ErrNoWorker: %t", name, got, c.want)
		}
	}
	if starved(nil, 2, 1) != nil {
		t.Error("success is no error")
	}
}

func TestEffects(t *testing.T) {
	timeout, failed := &engines.Error{Kind: engines.Timeout}, &engines.Error{Kind: engines.Failed}
	exhausted := &engines.Error{Kind: engines.Exhausted}
	cases := map[string]struct {
		reason string
		got    effect
		want   effect
	}{
		"killed":         {"the object has cost a worker", callEffect(fatal, failed, false, 0, 1), effect{answered, fatal, failed}},
		"fails":          {"a script that throws costs nothing", callEffect(answered, failed, false, 0, 1), effect{answered, answered, failed}},
		"interrupted":    {"a call that took all of its time", callEffect(answered, timeout, false, 1, 2), effect{answered, fatal, timeout}},
		"late":           {"one that had less time than it waited for a worker", callEffect(answered, timeout, false, 2, 1), effect{answered, inconclusive, timeout}},
		"killed late":    {"the same, of one that could not be interrupted", callEffect(fatal, timeout, false, 2, 1), effect{answered, inconclusive, timeout}},
		"memory":         {"a worker near its memory limit is replaced", callEffect(answered, exhausted, true, 0, 1), effect{answered, fatal, exhausted}},
		"other limit":    {"that of the response does not cost a worker", callEffect(answered, exhausted, false, 0, 1), effect{answered, answered, exhausted}},
		"given up":       {"a canceled call says nothing", callEffect(inconclusive, failed, false, 0, 1), effect{answered, inconclusive, failed}},
		"success":        {"an answer", callEffect(answered, nil, false, 0, 1), effect{answered, answered, nil}},
		"load":           {"a program that kills its worker", loadEffect(fatal, failed, 0, 1), effect{fatal, inconclusive, failed}},
		"load late":      {"one that had little time to load", loadEffect(fatal, timeout, 2, 1), effect{inconclusive, inconclusive, timeout}},
		"load in time":   {"one that had enough", loadEffect(fatal, timeout, 1, 2), effect{fatal, inconclusive, timeout}},
		"load of no use": {"a program that does not compile", loadEffect(answered, failed, 0, 1), effect{answered, inconclusive, failed}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s: %+v, want %+v", c.reason, c.got, c.want)
			}
		})
	}
}
