package sandbox

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

// TestChoose has a pool of three workers at most. A worker is written as its trust domain, or - for a new
// one, with a * if it is busy, an ! if it is ending, a ~ if it has not been of the domain for long, a + if another load is known to follow
// the last one, and a . if the last one was a load that none follows. A waiter is written as its domain, which is its owner too.
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
		"more loads":       {"one is kept longer for a load that is known to follow", "b+~ c* d*", "a", "wait 50ms", false},
		"more, of old":     {"also when its time slice is over", "b+ c* d*", "a b", "b to b", false},
		"no more loads":    {"after the last load none is expected", "b.~ c* d*", "a", "b ends: domain", false},
		"not the kept one": {"who is kept no longer ends, though it was idle for less time", "b+~ c.~ d*", "a", "c ends: domain", false},
		"in turn":          {"who waits for longer goes first", "- b", "b a", "b to b", false},
		"nobody":           {"idle workers are kept", "b c d", "", "", false},
		"shared":           {"workers of no domain are for all", "- -* -*", "a b", "- to a", true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(1000, 0)
			p := &Pool{config: Config{Workers: 2, ShareWorkers: c.share}, queue: newQueue(), processes: map[*process]bool{}}
			for i, text := range strings.Fields(c.workers) {
				w := &process{slot: i, caches: newWorkerCaches(), idleSince: now.Add(time.Duration(i)*time.Second - time.Minute)}
				if domain := strings.Trim(text, "*!~+."); domain != "-" {
					w.join(domain)
				}
				if w.trust.since = now.Add(-minTimeSlice); strings.Contains(text, "~") {
					w.trust.since, w.idleSince = now, now
				}
				if strings.Contains(text, "!") {
					w.killing.reason = reasonDomain
				}
				switch {
				case strings.Contains(text, "+"):
					w.expected = expectsLoad
				case strings.Contains(text, "."):
					w.expected = expectsNothing
				}
				p.processes[w] = !strings.ContainsAny(text, "*!")
			}
			for domain := range strings.FieldsSeq(c.waiters) {
				p.queue.push(&waiter{flow: flow{owner: domain}, program: &program{name: domain, domain: p.config.domainOf(domain)}, preferred: -1})
			}
			got := ""
			switch c := p.choose(now); {
			case c.wait > 0:
				got = "wait " + c.wait.String()
			case c.worker == nil:
			case c.waiter == nil:
				got = c.worker.trust.domain + " ends: " + c.reason
			case c.worker.trust.assigned:
				got = c.worker.trust.domain + " to " + c.waiter.owner
			default:
				got = "- to " + c.waiter.owner
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestTenure checks that workers are kept longer where a start takes longer, within bounds.
func TestTenure(t *testing.T) {
	for name, c := range map[string]struct{ start, slice, grace time.Duration }{
		"before the first start":    {0, 50 * time.Millisecond, 2 * time.Millisecond},
		"a quiet machine":           {10 * time.Millisecond, 50 * time.Millisecond, 2 * time.Millisecond},
		"a fifth of a processor":    {160 * time.Millisecond, 640 * time.Millisecond, 20 * time.Millisecond},
		"a machine that is no more": {10 * time.Second, time.Second, 125 * time.Millisecond},
	} {
		if got := tenureFor(c.start); got.slice != c.slice || got.grace != c.grace {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEffects(t *testing.T) {
	timeout, failed := &engines.Error{Kind: engines.Timeout}, &engines.Error{Kind: engines.Failed}
	exhausted, busy := &engines.Error{Kind: engines.Exhausted}, &engines.Error{Kind: engines.Busy}
	cases := map[string]struct {
		reason string
		got    effect
		want   effect
	}{
		"killed":      {"the object has cost a worker", callEffect(fatal, failed, false), effect{answered, fatal, failed}},
		"fails":       {"a script that throws costs nothing", callEffect(answered, failed, false), effect{answered, answered, failed}},
		"interrupted": {"a call that took all of its time", callEffect(answered, timeout, false), effect{answered, fatal, timeout}},
		"starved":     {"one whose worker was killed, but has had no time, says nothing", callEffect(inconclusive, busy, false), effect{answered, inconclusive, busy}},
		"memory":      {"a worker near its memory limit is replaced", callEffect(answered, exhausted, true), effect{answered, fatal, exhausted}},
		"other limit": {"that of the response does not cost a worker", callEffect(answered, exhausted, false), effect{answered, answered, exhausted}},
		"given up":    {"a canceled call says nothing", callEffect(inconclusive, failed, false), effect{answered, inconclusive, failed}},
		"success":     {"an answer", callEffect(answered, nil, false), effect{answered, answered, nil}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("%s: %+v, want %+v", c.reason, c.got, c.want)
			}
		})
	}
}
