package javascript

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestVLQ(t *testing.T) {
	for segment, want := range map[string][]int{
		"AAAA":   {0, 0, 0, 0},
		"CADE":   {1, 0, -1, 2},
		"gBAAgB": {16, 0, 0, 16},
		"s8X":    {12230},
	} {
		if diff := cmp.Diff(want, decodeVLQ(segment)); diff != "" {
			t.Errorf("decoding %q (-want +got):\n%s", segment, diff)
		}
		if got := encodeVLQ(want); got != segment {
			t.Errorf("encoding %v gave %q, want %q", want, got, segment)
		}
	}
}

func TestShifted(t *testing.T) {
	cases := map[string]struct{ reason, mappings, want string }{
		"one line":    {"both columns move, and what follows is relative", "AAAA,CAAC", "CAAC,CAAC"},
		"lines":       {"generated columns start anew on each line, source columns do not", "AAAA;AACA", "CAAC;CACA"},
		"empty lines": {"the bundle's own lines have no mappings", ";;AAAA", ";;CAAC"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := shiftColumns(c.mappings); got != c.want {
				t.Errorf("shifted(%q) = %q, want %q", c.mappings, got, c.want)
			}
		})
	}
}

func TestNesting(t *testing.T) {
	cases := map[string]struct {
		reason, source string
		want           int
	}{
		"none":         {"nothing to nest", "", 0},
		"kinds":        {"all brackets count alike", "f([{}])", 3},
		"side by side": {"what is closed is over", "()()[]", 1},
		"strings":      {"brackets in strings are text", `f("((((", '[[\'[[')`, 1},
		"comments":     {"brackets in comments are text", "f( // ((((\n) /* [[[[ */", 1},
		"masked":       {"closing brackets in strings can't hide what is open", `((("))" + (")"`, 4},
		"apostrophe":   {"a quote in a pattern is not a string's", "/'/; (((", 3},
		"many":         {"counting ends when it is known to be too many", "((((((((((((", 6},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if got := nesting(c.source, 5); got != c.want {
				t.Errorf("nesting(%q) = %d, want %d", c.source, got, c.want)
			}
		})
	}
}
