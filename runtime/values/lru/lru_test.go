package lru

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// kept returns the IDs from 0 up to n that an owner's group still has.
func kept(c *Cache, owner string, n int) []int {
	var ids []int
	for id := range n {
		if _, ok := c.Get(Key{owner, "g", id}); ok {
			ids = append(ids, id)
		}
	}
	return ids
}

func TestEviction(t *testing.T) {
	type put struct {
		owner string
		id    int
		bytes int64
	}
	many := func(owner string, n int, bytes int64) []put {
		var all []put
		for id := range n {
			all = append(all, put{owner, id, bytes})
		}
		return all
	}
	cases := map[string]struct {
		reason string
		puts   []put
		want   map[string][]int
	}{
		"Fits":   {"What fits is kept.", many("a", 4, 25), map[string][]int{"a": {0, 1, 2, 3}}},
		"Oldest": {"The longest unused goes.", many("a", 6, 25), map[string][]int{"a": {2, 3, 4, 5}}},
		"Alone":  {"One owner may have all.", many("a", 1, 100), map[string][]int{"a": {0}}},
		"TooLarge": {
			"A value above the budget takes the place of none.", append(many("a", 4, 25), put{"b", 0, 101}),
			map[string][]int{"a": {0, 1, 2, 3}, "b": nil},
		},
		"Replaced": {
			"A value has one size.", []put{{"a", 0, 90}, {"a", 0, 10}, {"a", 1, 90}}, map[string][]int{"a": {0, 1}},
		},
		"Share": {
			"An owner that puts more and more takes nothing from one that has less than its share.",
			append(many("small", 2, 25), many("large", 50, 10)...), map[string][]int{"small": {0, 1}, "large": {45, 46, 47, 48, 49}},
		},
		"ShareGrows": {
			"One that comes late gets its share of what another had.",
			append(many("first", 10, 10), many("late", 5, 10)...), map[string][]int{"first": {5, 6, 7, 8, 9}, "late": {0, 1, 2, 3, 4}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := New(100)
			for _, p := range tc.puts {
				c.Put(Key{p.owner, "g", p.id}, "value", p.bytes)
			}
			for owner, want := range tc.want {
				if diff := cmp.Diff(want, kept(c, owner, 50)); diff != "" {
					t.Errorf("%s\n%s has (-want +got):\n%s", tc.reason, owner, diff)
				}
			}
		})
	}
}

func TestUseCounts(t *testing.T) {
	c := New(100)
	for id := range 10 {
		c.Put(Key{"a", "g", id}, fmt.Sprint(id), 30)
		c.Get(Key{"a", "g", 0})
	}
	if diff := cmp.Diff([]int{0, 8, 9}, kept(c, "a", 10)); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if v, _ := c.Get(Key{"a", "g", 9}); v != "9" {
		t.Errorf("the value is %v, want 9", v)
	}
}

func TestDelete(t *testing.T) {
	c := New(100)
	for id := range 4 {
		c.Put(Key{"a", "g", id}, id, 10)
		c.Put(Key{"a", "h", id}, id, 1)
		c.Put(Key{"b", "g", id}, id, 2)
	}
	c.DeleteFunc("a", "g", func(id, value any) bool { return id == value && id.(int) < 3 })
	if n := c.Len("a", "g"); n != 1 {
		t.Errorf("%d values are left, want 1", n)
	}
	if diff := cmp.Diff(map[string]Usage{"a": {Bytes: 14}, "b": {Bytes: 8}}, c.Usage()); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	c.DeleteOwner("a")
	if diff := cmp.Diff(map[string]Usage{"b": {Bytes: 8}}, c.Usage()); diff != "" || c.used != 8 {
		t.Errorf("usage after the deletion, of %d bytes (-want +got):\n%s", c.used, diff)
	}
	for id := range 20 {
		c.Put(Key{"b", "g", id}, id, 10)
	}
	if got := c.Usage()["b"]; got != (Usage{Bytes: 100, Evictions: 10}) {
		t.Errorf("usage %+v, want all of the budget and 10 evictions", got)
	}
}
