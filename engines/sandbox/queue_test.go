package sandbox

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestQueue(t *testing.T) {
	// A lower-case letter waits as the owner of that name, an upper-case one gives a
	// worker of its back. After each step, who may go goes.
	cases := map[string]struct {
		reason string
		limit  int
		steps  string
		want   string
	}{
		"one owner":      {"alone, an owner gets all but the one more", 2, "aaa", "aa"},
		"one more":       {"which is for somebody who has none", 2, "aaab", "aab"},
		"only one more":  {"once", 2, "aaabc", "aab"},
		"in turn":        {"owners take turns, however many calls each has", 1, "aaaabbbcAABABA", "abacbaba"},
		"one more back":  {"the one more is not had by giving one of the others back", 3, "aaaaabABA", "aaabaa"},
		"newcomer first": {"somebody who has none before somebody who waited longer", 2, "aaaabbcAB", "aabcb"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			q, got := newQueue(), ""
			for _, step := range strings.Split(c.steps, "") {
				if owner := strings.ToLower(step); owner == step {
					q.push(&waiter{owner: owner})
				} else {
					q.release(owner)
				}
				for w := q.next(c.limit); w != nil; w = q.next(c.limit) {
					got += w.owner
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("who went, in order (-want +got):\n%s", diff)
			}
		})
	}
}
