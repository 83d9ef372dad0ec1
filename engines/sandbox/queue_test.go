package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueue(t *testing.T) {
	// A lower-case letter is a waiter of the owner with that name, on probation if it is x, y or z, and in the
	// background if it is t, u or v. An upper-case one releases a worker of that owner. After each step, all waiters that may run do.
	cases := map[string]struct {
		reason string
		limit  int
		steps  string
		want   string
	}{
		"one owner":        {"a single owner gets all workers but the spare", 2, "aaa", "aa"},
		"one more":         {"the spare is for an owner without workers", 2, "aaab", "aab"},
		"only one more":    {"there is only one spare", 2, "aaabc", "aab"},
		"in turn":          {"owners take turns, however many calls each has", 1, "aaaabbbcAACBAB", "abacabab"},
		"one more back":    {"releasing another worker does not free the spare", 3, "aaaaabABA", "aaabaa"},
		"on probation":     {"of three calls on probation, here x, y and z, two of different owners run", 4, "xxyyzzaaaX", "xyaax"},
		"probation last":   {"they leave the spare to others", 2, "aaxb", "aab"},
		"background":       {"of three flows in the background, here t, u and v, two run, with a worker each", 4, "ttuuvvaaaT", "tuaat"},
		"tests give way":   {"tests leave the spare to others, and go after an owner without workers", 1, "ttaaTA", "taa"},
		"tests have turns": {"tests do not wait for an owner that has a worker to have all", 2, "bbbbtBB", "bbbt"},
		"newcomer first":   {"an owner without workers goes before one that waits longer", 2, "aaaabbcAB", "aabcb"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			q, got := newQueue(), ""
			for step := range strings.SplitSeq(c.steps, "") {
				of := flow{owner: strings.ToLower(step), probation: strings.Contains("xyz", strings.ToLower(step))}
				of.background = strings.Contains("tuv", of.owner)
				if of.owner == step {
					q.push(&waiter{flow: of})
				} else {
					q.release(of)
				}
				for w := first(q, c.limit); w != nil; w = first(q, c.limit) {
					q.take(w)
					got += w.owner
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("waiters in the order served (-want +got):\n%s", diff)
			}
		})
	}
}

// first returns the waiter that is to have the next worker, or nil.
func first(q *queue, limit int) *waiter {
	for w := range q.eligible(limit) {
		return w
	}
	return nil
}
