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

func TestProbationLine(t *testing.T) {
	// A lower-case letter is an object that tries to enter, of the owner 1 or, if it comes after a slash, 2.
	// A - leaves the lane of 1. A number advances the clock by that many seconds.
	cases := map[string]struct {
		reason string
		steps  []string
		want   string // What entered.
	}{
		"one":         {"the lane is free", []string{"a"}, "a"},
		"another":     {"one object at a time", []string{"a", "b"}, "a"},
		"itself":      {"another call about the same object", []string{"a", "a"}, "aa"},
		"both leave":  {"the lane is free when both have ended", []string{"a", "a", "-", "b", "-", "b"}, "aab"},
		"other owner": {"each owner has a lane", []string{"a", "/b"}, "ab"},
		"after it":    {"the next one", []string{"a", "b", "-", "b"}, "ab"},
		"in line":     {"who stands in line goes before who does not", []string{"a", "b", "c", "d", "e", "f", "-", "a", "g", "f"}, "af"},
		"not too far": {"but only from among the first", []string{"a", "b", "c", "d", "e", "f", "g", "-", "g", "b", "-", "g"}, "abg"},
		"does not come": {
			"who does not come back loses the place", []string{"a", "b", "c", "d", "e", "f", "-", "12", "g"}, "ag",
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
	for n := range 2 * maxLine {
		wait, _ := p.tryEnter("c", engines.Origin{ID: fmt.Sprint(n)})
		longest = max(longest, wait)
	}
	if line := len(p.lanes["c"].line); line != maxLine || longest > 3*time.Minute {
		t.Errorf("%d stand in line, and come back after up to %v", line, longest)
	}
	now = now.Add(longest + 2*overdue)
	p.leave("c")
	if len(p.lanes) > 0 {
		t.Error("the lane is left when nobody has come back")
	}
}

// TestBriefCalls has many objects on probation whose calls are short. They must not be sent away.
func TestBriefCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newProbation(time.Now)
		var group sync.WaitGroup
		for n := range firstInLine {
			group.Go(func() {
				for range 100 {
					if wait := p.enter(t.Context(), "c", engines.Origin{ID: fmt.Sprint(n)}); wait > 0 {
						t.Errorf("object %d is to come back after %v", n, wait)
						continue
					}
					<-time.After(brief / 10)
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
		if took := time.Since(began); took > 2*brief {
			t.Errorf("five calls waited for %v", took)
		}
		p.leave("c")
	})
}
