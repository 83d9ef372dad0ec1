package sandbox

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLRU(t *testing.T) {
	const half = maxProgramMemory / 2
	type loaded struct {
		name   string
		memory int64
	}
	cases := map[string]struct {
		reason string
		loads  []loaded
		use    string
		out    []string
		memory int64
	}{
		"empty":      {reason: "there is room"},
		"small ones": {reason: "there is room", loads: []loaded{{"a", 1}, {"b", 2}}, memory: 3},
		"large ones": {reason: "the least recently used program is evicted", loads: []loaded{{"a", half}, {"b", half}, {"c", half}}, out: []string{"a"}, memory: maxProgramMemory},
		"used":       {reason: "a call counts as use", loads: []loaded{{"a", half}, {"b", half}, {"c", half}}, use: "a", out: []string{"b"}, memory: maxProgramMemory},
		"huge":       {reason: "it is evicted by the next load", loads: []loaded{{"a", 1}, {"b", 2 * maxProgramMemory}}, out: []string{"a", "b"}},
		"again":      {reason: "a reloaded program keeps its figure", loads: []loaded{{"a", 5}, {"b", 6}, {"a", 5}}, memory: 11},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			s, texts := newProgramCache(), newTextCache()
			for _, l := range c.loads {
				s.add(l.name, l.memory)
			}
			s.use(c.use)
			if diff := cmp.Diff(c.out, s.evict(&texts)); diff != "" || s.memory != c.memory {
				t.Errorf("%d bytes are left, want %d; gone are (-want +got):\n%s", s.memory, c.memory, diff)
			}
		})
	}
}

func TestLRUFull(t *testing.T) {
	s, texts := newProgramCache(), newTextCache()
	for n := range maxPrograms {
		s.add(fmt.Sprint(n), 0)
	}
	if diff := cmp.Diff([]string{"0"}, s.evict(&texts)); diff != "" || s.has("0") || !s.has("1") {
		t.Errorf("of %d programs, gone are (-want +got):\n%s", maxPrograms, diff)
	}
}
