package health

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestSyncedBy counts the parents that were synced last by the scripts that serve, whenever that is noted.
func TestSyncedBy(t *testing.T) {
	s := NewStates(clocktesting.NewFakeClock(time.Unix(1000, 0)))
	keys := []controller.Key{parenttest.ThingKey("a"), parenttest.ThingKey("b")}
	parents := func() []controller.Key { return keys }
	pass := func(name, revision string) func() {
		return func() { s.Set(parenttest.ThingKey(name), types.UID(name), End{Edit: revision}) }
	}
	s.BeginSweep(keys)
	for i, step := range []struct {
		reason  string
		do      func()
		serving string
		want    int32
	}{
		{"nothing was synced yet", func() {}, "1", 0},
		{"one", pass("a", "1"), "1", 1},
		{"a failure counts", func() {
			s.Set(parenttest.ThingKey("b"), "b", End{Edit: "1", Err: parenttest.Thrown(3, "boom")})
		}, "1", 2},
		{"an edit", func() {}, "2", 0},
		{"a pass that began before it", pass("a", "1"), "2", 0},
		{"a conflict says nothing", func() { s.Set(parenttest.ThingKey("a"), "a", End{Edit: "2", Err: controller.ErrLater}) }, "2", 0},
		{"one has it", pass("a", "2"), "2", 1},
		{"it is taken back", func() {}, "1", 1},
		{"from both", pass("a", "1"), "1", 2},
		{"another edit reaches one in a step, while the former one serves", pass("b", "3"), "1", 1},
		{"and then all", func() {}, "3", 1},
		{"the other one too", pass("a", "3"), "3", 2},
		{"a new parent", func() { keys = append(keys, parenttest.ThingKey("c")); s.Add(parenttest.ThingKey("c"), "c") }, "3", 2},
		{"is synced", pass("c", "3"), "3", 3},
		{"and deleted before the next edit", func() { keys = keys[:2]; s.Forget(parenttest.ThingKey("c")) }, "4", 0},
		{"the host lists them again", func() { s.BeginSweep(keys) }, "4", 0},
		{"one", pass("a", "4"), "4", 1},
		{"both", pass("b", "4"), "4", 2},
	} {
		step.do()
		s.SetServing(step.serving, parents)
		if got := s.Summary(int32(len(keys))).Updated; got != step.want {
			t.Errorf("step %d: %s: %d are updated, want %d (%v)", i, step.reason, got, step.want, s.behind)
		}
	}
	if len(s.behind) > 0 {
		t.Errorf("parents that were synced by what serves take memory: %s", fmt.Sprint(s.behind))
	}
}
