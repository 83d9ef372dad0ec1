package sandbox

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/engines"
)

func TestProbationQueue(t *testing.T) {
	// A lower-case letter is an object that tries to enter, of the owner 1 or, if it comes after a slash, 2.
	// A - ends a call of 1. A number advances the clock by that many seconds.
	cases := map[string]struct {
		reason string
		steps  []string
		want   string // What entered.
	}{
		"one":         {"nothing is called", []string{"a"}, "a"},
		"another":     {"one object at a time", []string{"a", "b"}, "a"},
		"itself":      {"another call about the same object", []string{"a", "a"}, "aa"},
		"both leave":  {"the next one runs when both have ended", []string{"a", "a", "-", "b", "-", "b"}, "aab"},
		"other owner": {"each owner has one at a time", []string{"a", "/b"}, "ab"},
		"after it":    {"the next one", []string{"a", "b", "-", "b"}, "ab"},
		"queued":      {"a queued object goes before one that is not", []string{"a", "b", "c", "d", "e", "f", "-", "a", "g", "f"}, "af"},
		"not too far": {"but only from among the first", []string{"a", "b", "c", "d", "e", "f", "g", "-", "g", "b", "-", "g"}, "abg"},
		"does not come": {
			"an object that is not tried again loses its place", []string{"a", "b", "c", "d", "e", "f", "-", "12", "g"}, "ag",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			now, got := time.Unix(0, 0), ""
			p := newProbation(func() time.Time { return now })
			for _, step := range c.steps {
				var seconds int
				if n, _ := fmt.Sscan(step, &seconds); n == 1 {
					now = now.Add(time.Duration(seconds) * time.Second)
					continue
				}
				owner, object := "1", step
				if step[0] == '/' {
					owner, object = "2", step[1:]
				}
				if step == "-" {
					p.leave(owner)
				} else if wait, _ := p.tryEnter(owner, engines.Origin{ID: object}); wait == 0 {
					got += object
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestProbationIsBounded has a tenant make objects that all want to be called.
func TestProbationIsBounded(t *testing.T) {
	now := time.Unix(0, 0)
	p := newProbation(func() time.Time { return now })
	longest := time.Duration(0)
	for n := range 2 * maxQueued {
		wait, _ := p.tryEnter("c", engines.Origin{ID: fmt.Sprint(n)})
		longest = max(longest, wait)
	}
	if queued := len(p.owners["c"].queue); queued != maxQueued || longest > 3*time.Minute {
		t.Errorf("%d are queued, and tried again after up to %v", queued, longest)
	}
	now = now.Add(longest + 2*maxOverdue)
	p.leave("c")
	if len(p.owners) > 0 {
		t.Error("the owner is left when no call was tried again")
	}
}

// TestBriefCalls has many objects on probation whose calls are short. They must not be sent away.
func TestBriefCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbation(time.Now)
		var group sync.WaitGroup
		for n := range maxNext {
			group.Go(func() {
				for range 100 {
					if wait := p.enter(t.Context(), "c", engines.Origin{ID: fmt.Sprint(n)}); wait > 0 {
						t.Errorf("object %d is to come back after %v", n, wait)
						continue
					}
					<-time.After(maxWait / 10)
					p.leave("c")
				}
			})
		}
		group.Wait()
	})
}

// TestSlowCall has a call that takes long. Another one must not wait for it.
func TestSlowCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbation(time.Now)
		p.enter(t.Context(), "c", engines.Origin{ID: "slow"})
		began := time.Now()
		for n := range 5 {
			if wait := p.enter(t.Context(), "c", engines.Origin{ID: fmt.Sprint(n)}); wait == 0 {
				t.Error("two objects are called about at once")
			}
		}
		if took := time.Since(began); took > 2*maxWait {
			t.Errorf("five calls waited for %v", took)
		}
		p.leave("c")
	})
}
