package sandbox

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

var (
	p       = circuit{program: "p", origin: engines.Origin{ID: "1", Namespace: "a"}}
	another = circuit{program: "p", origin: engines.Origin{ID: "2", Namespace: "a"}}
)

func TestBreaker(t *testing.T) {
	// Each step is a call: k kills its worker, a answers, u is canceled. A number advances the clock by
	// that many seconds.
	cases := map[string]struct {
		reason string
		steps  []string
		want   string // + for a call that was allowed, - for one that was not.
	}{
		"two":        {"two failures do not open the breaker", []string{"k", "k", "a", "a"}, "++++"},
		"three":      {"the third failure opens the breaker", []string{"k", "k", "k", "a", "59", "a"}, "+++--"},
		"in a row":   {"an answer resets the count", []string{"k", "k", "a", "k", "k", "a"}, "++++++"},
		"given up":   {"a canceled call does not count", []string{"k", "k", "u", "k", "a"}, "++++-"},
		"opens":      {"after a minute one call is allowed; its success closes the breaker", []string{"k", "k", "k", "60", "a", "a"}, "+++++"},
		"doubles":    {"its failure opens the breaker for two minutes", []string{"k", "k", "k", "60", "k", "119", "a", "1", "a"}, "++++-+"},
		"five":       {"and never for more than five", []string{"k", "k", "k", "60", "k", "120", "k", "240", "k", "299", "a", "1", "a"}, "++++++-+"},
		"trial lost": {"after a canceled trial the next call is one", []string{"k", "k", "k", "60", "u", "a"}, "+++++"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			now := time.Unix(0, 0)
			b := newBreaker(func() time.Time { return now }, callsFormat)
			got := ""
			for _, step := range c.steps {
				o, isCall := map[string]outcome{"k": fatal, "a": answered, "u": inconclusive}[step]
				if !isCall {
					var seconds int
					_, _ = fmt.Sscan(step, &seconds)
					now = now.Add(time.Duration(seconds) * time.Second)
					continue
				}
				if b.allow(p) != nil {
					got += "-"
					continue
				}
				got += "+"
				b.report(p, o, &engines.Error{Kind: engines.Timeout, Message: "slow"})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("which calls were allowed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBreakerError(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now }, callsFormat)
	for range failureThreshold {
		b.report(p, fatal, &engines.Error{Kind: engines.Exhausted, Message: "too much"})
	}
	refused := b.allow(p)
	if want := "not called until 00:01:00 UTC for this object, because it has cost 3 script workers in a row: too much: " +
		"correct the object by then, or the script, which is called at once"; refused == nil ||
		refused.Kind != engines.Exhausted || refused.Message != want || refused.RetryAfter != time.Minute || !errors.Is(refused, engines.ErrBackoff) {
		t.Errorf("refused with %v, to try again after %v, want %q", refused, refused.RetryAfter, want)
	}
	if err := b.openError(p); err == nil || err.Message != refused.Message {
		t.Errorf("the open breaker has error %v, want %v", err, refused)
	}
	if b.allow(another) != nil || b.openError(another) != nil {
		t.Error("another object is refused too")
	}
	now = now.Add(time.Minute)
	if err := b.openError(p); err != nil {
		t.Errorf("the breaker is open when the time is over: %v", err)
	}
	if b.allow(p) != nil {
		t.Error("no call is allowed when the time is over")
	}
	if b.allow(p) == nil {
		t.Error("a second call is allowed during the trial")
	}
}

func TestBreakerPrunes(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now }, callsFormat)
	for i := range 10 {
		b.report(circuit{program: fmt.Sprint(i)}, fatal, &engines.Error{})
		now = now.Add(2 * recordTTL)
	}
	if len(b.records) > 1 {
		t.Errorf("%d records of programs that are no longer called", len(b.records))
	}
}

func TestIsOnProbation(t *testing.T) {
	of := func(program, namespace, id string) circuit {
		return circuit{program: program, origin: engines.Origin{ID: id, Namespace: namespace}}
	}
	cases := map[string]struct {
		reason string
		killed []circuit
		after  time.Duration
		asked  circuit
		want   bool
	}{
		"none":         {"an object that has cost nothing", nil, 0, of("p", "a", "1"), false},
		"itself":       {"one that has cost a worker", []circuit{of("p", "a", "1")}, 0, of("p", "a", "1"), true},
		"of its kind":  {"one beside it", []circuit{of("p", "a", "1")}, 0, of("p", "a", "2"), false},
		"forgotten":    {"one that cost a worker long ago", []circuit{of("p", "a", "1")}, recordTTL, of("p", "a", "1"), false},
		"tenant":       {"a new one of a namespace whose objects do", []circuit{of("p", "a", "1"), of("p", "a", "2"), of("p", "a", "3")}, 0, of("p", "a", "4"), true},
		"again":        {"one object counts once", []circuit{of("p", "a", "1"), of("p", "a", "1"), of("p", "a", "1")}, 0, of("p", "a", "4"), false},
		"tenant, then": {"a namespace is forgotten too", []circuit{of("p", "a", "1"), of("p", "a", "2"), of("p", "a", "3")}, recordTTL, of("p", "a", "4"), false},
		"neighbour":    {"another namespace", []circuit{of("p", "a", "1"), of("p", "a", "2"), of("p", "a", "3")}, 0, of("p", "b", "4"), false},
		"program":      {"another program, such as the corrected one", []circuit{of("p", "a", "1"), of("p", "a", "2"), of("p", "a", "3")}, 0, of("q", "a", "1"), false},
		"no namespace": {"objects without namespace have no tenant", []circuit{of("p", "", "1"), of("p", "", "2"), of("p", "", "3")}, 0, of("p", "", "4"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now := time.Unix(0, 0)
			b := newBreaker(func() time.Time { return now }, callsFormat)
			for _, killer := range c.killed {
				b.report(killer, fatal, &engines.Error{})
			}
			now = now.Add(c.after)
			if got := b.isOnProbation(c.asked); got != c.want {
				t.Errorf("%s: on probation %v, want %v", c.reason, got, c.want)
			}
		})
	}
}

// TestProbationStays has an object answer well between calls that cost workers.
func TestProbationStays(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now }, callsFormat)
	for range 2 * failureThreshold {
		b.report(p, fatal, &engines.Error{})
		b.report(p, answered, nil)
		if onProbation, refused := b.isOnProbation(p), b.allow(p); !onProbation || refused != nil {
			t.Errorf("on probation %v, refused with %v: an answer closes the breaker, and does not end the probation", onProbation, refused)
		}
	}
}

// TestBreakerIsBounded has a tenant make objects that cost workers.
func TestBreakerIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now }, callsFormat)
	last := circuit{}
	for i := range maxRecords + 100 {
		last = circuit{program: "p", origin: engines.Origin{ID: fmt.Sprint(i), Namespace: fmt.Sprint(i % 7)}}
		b.report(last, fatal, &engines.Error{Message: strings.Repeat("x", 1<<16)})
		now = now.Add(time.Millisecond)
	}
	kept := 0
	for _, r := range b.records {
		kept = max(kept, len(r.lastErr.Message))
	}
	if len(b.records) > maxRecords || kept > 2*maxRecordedError || b.records[last] == nil {
		t.Errorf("%d records with up to %d bytes each, and the last one is %v", len(b.records), kept, b.records[last])
	}
	now = now.Add(recordTTL)
	if b.isOnProbation(last) || len(b.records) > 0 || len(b.inNamespace) > 0 {
		t.Errorf("%d records of %d namespaces are left when they are old", len(b.records), len(b.inNamespace))
	}
}
