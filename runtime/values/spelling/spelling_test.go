package spelling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHint(t *testing.T) {
	for name, c := range map[string]struct {
		reason, given string
		known         []string
		want          string
	}{
		"none":      {"There is nothing to say.", "a", nil, ""},
		"letter":    {"One letter is missing.", "gretings", []string{"greetings", "count"}, "did you mean greetings?"},
		"plural":    {"A kind is given in place of a resource.", "pod", []string{"nodes", "pods"}, "did you mean pods?"},
		"singular":  {"So it is with groups of objects.", "Pods.v1", []string{"ConfigMap.v1", "Pod.v1"}, "did you mean Pod.v1?"},
		"case":      {"Only the case differs.", "Id", []string{"ID", "ip"}, "did you mean ID?"},
		"swapped":   {"Two letters are swapped, which is one mistake.", "staus", []string{"status"}, "did you mean status?"},
		"nearest":   {"Of two the nearer one is meant.", "replica", []string{"replics", "replicas", "repl"}, "did you mean replicas?"},
		"short":     {"Short names are as near to all others.", "a", []string{"b", "c"}, "there are b, c"},
		"different": {"Nothing is near.", "replicas", []string{"size"}, "there is size"},
		"many":      {"A long list is cut.", "x", strings.Fields("a b c d e f g h i j k l"), "there are a, b, c, d, e, f, g, h, i, j and 2 more"},
		"huge":      {"A name that is too long is not compared.", strings.Repeat("x", 1000), []string{strings.Repeat("x", 1001)}, "there is " + strings.Repeat("x", 1001)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			if diff := cmp.Diff(c.want, Hint(c.given, c.known)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDistance(t *testing.T) {
	for words, want := range map[string]int{"a a": 0, "ab ba": 1, "kitten sitting": 3, "children chidlren": 1, "abc x": 3, "flaw lawn": 2} {
		a, b, _ := strings.Cut(words, " ")
		if got := distance(a, b); got != want || distance(b, a) != want {
			t.Errorf("%s: %d and back %d, want %d", words, got, distance(b, a), want)
		}
	}
}

// TestIndex checks that a name is found where it is one, and not a part of another.
func TestIndex(t *testing.T) {
	for given, want := range map[string]int{"image": 0, "imagePullPolicy, image": 17, "$image": -1, "spec.image": 5, "images": -1, "éimage": -1, "": -1} {
		if got := Index(given, "image", 0); got != want {
			t.Errorf("%s: %d, want %d", given, got, want)
		}
	}
	if got := Index("a a", "a", 1); got != 2 {
		t.Errorf("from the second byte on: %d, want 2", got)
	}
	if got := Index("a", "", 0); got != -1 {
		t.Errorf("no name: %d, want -1", got)
	}
}
