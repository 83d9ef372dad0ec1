package sandbox

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
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
				t.Errorf("which calls were allowed (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBreakerError(t *testing.T) {
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
	if err := b.openError("p"); err == nil || err.Message != refused.Message {
		t.Errorf("the open breaker has error %v, want %v", err, refused)
	}
	if b.allow("another") != nil || b.openError("another") != nil {
		t.Error("another program is refused too")
	}
	now = now.Add(time.Minute)
	if err := b.openError("p"); err != nil {
		t.Errorf("the breaker is open when the time is over: %v", err)
	}
	if b.allow("p") != nil {
		t.Error("no call is allowed when the time is over")
	}
	if b.allow("p") == nil {
		t.Error("a second call is allowed during the trial")
	}
}

func TestBreakerPrunes(t *testing.T) {
	now := time.Unix(0, 0)
	b := newBreaker(func() time.Time { return now })
	for i := range 10 {
		b.report(fmt.Sprint(i), fatal, &engines.Error{})
		now = now.Add(2 * recordTTL)
	}
	if len(b.records) > 1 {
		t.Errorf("%d records of programs that are no longer called", len(b.records))
	}
}
