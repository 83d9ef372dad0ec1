package listeners

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestList(t *testing.T) {
	var list List[func() string]
	says := func(text string) func() string { return func() string { return text } }
	call := func() (said []string) {
		for _, f := range list.All() {
			said = append(said, f())
		}
		return said
	}
	check := func(want ...string) {
		t.Helper()
		if diff := cmp.Diff(want, call()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	check()
	list.Add(says("a"))
	remove := list.Add(says("b"))
	list.Add(says("b"))
	check("a", "b", "b")
	before := list.All()
	remove()
	remove()
	check("a", "b")
	if len(before) != 3 || before[1]() != "b" {
		t.Error("what was read before has changed")
	}
}
