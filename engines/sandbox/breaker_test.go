package sandbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestBreaker(t *testing.T) {
	// Each step is a call: k costs its worker, a answers, u is given up. A number lets
	// so many seconds pass.
	cases := map[string]struct {
		reason string
		steps  []string
		want   string // + for a call that was let through, - for one that was not.
	}{
		"two":        {"a program that costs two workers is called a third time", []string{"k", "k", "a", "a"}, "++++"},
		"three":      {"after the third it is parked", []string{"k", "k", "k", "a", "59", "a"}, "+++--"},
		"in a row":   {"an answer in between begins anew", []string{"k", "k", "a", "k", "k", "a"}, "++++++"},
		"given up":   {"a call that is given up says nothing", []string{"k", "k", "u", "k", "a"}, "++++-"},
		"opens":      {"a minute later it is tried, and well", []string{"k", "k", "k", "60", "a", "a"}, "+++++"},
		"doubles":    {"a kill then parks it for two minutes", []string{"k", "k", "k", "60", "k", "119", "a", "1", "a"}, "++++-+"},
		"five":       {"and never for more than five", []string{"k", "k", "k", "60", "k", "120", "k", "240", "k", "299", "a", "1", "a"}, "++++++-+"},
		"trial lost": {"a trial that is given up leaves it to the next", []string{"k", "k", "k", "60", "u", "a"}, "+++++"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			now := time.Unix(0, 0)
			b := newBreaker(func() time.Time { return now })
			got := ""
			for _, step := range c.steps {
				o, isCall := map[string]outcome{"k": fatal, "a": answered, "u": inconclusive}[step]
				if !isCall {
					var seconds int
					fmt.Sscan(step, &seconds)
					now = now.Add(time.Duration(seconds) * time.Second)
					continue
				}
				if b.allow("p") != nil {
					got += "-"
					continue
				}
				got += "+"
				b.report("p", o, &engines.Error{Kind: engines.Timeout, Message: "slow"})
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("which calls were let through (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBreakerTellsWhy(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now })
	for range failureThreshold {
		b.report("p", fatal, &engines.Error{Kind: engines.Exhausted, Message: "too much"})
	}
	refused := b.allow("p")
	if want := "not called until 00:01:00 UTC, because it has cost 3 script workers in a row: too much: correct the script, which is then called at once"; refused == nil ||
		refused.Kind != engines.Exhausted || refused.Message != want {
		t.Errorf("refused with %v, want %q", refused, want)
	}
	if told := b.openError("p"); told == nil || told.Message != refused.Message {
		t.Errorf("it is said to be parked by %v, want %v", told, refused)
	}
	if b.allow("another") != nil || b.openError("another") != nil {
		t.Error("another program is parked too")
	}
	now = now.Add(time.Minute)
	if told := b.openError("p"); told != nil {
		t.Errorf("it is said to be parked when the time is over: %v", told)
	}
	if b.allow("p") != nil {
		t.Error("it is not tried when the time is over")
	}
	if b.allow("p") == nil {
		t.Error("a second call goes through while the first still tries")
	}
}

func TestBreakerForgets(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now })
	for i := range 10 {
		b.report(fmt.Sprint(i), fatal, &engines.Error{})
		now = now.Add(2 * recordTTL)
	}
	if len(b.records) > 1 {
		t.Errorf("%d programs are remembered that nobody calls", len(b.records))
	}
}
