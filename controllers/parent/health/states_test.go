package health

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/failure"
	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// TestSyncStates goes through the life of parents, and compares what is counted after each step.
func TestSyncStates(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	s := NewStates(clock)
	s.BeginSweep([]controller.Key{parenttest.ThingKey("a"), parenttest.ThingKey("b")})
	parents := int32(2)
	pass := func(name string, end End) func() bool {
		return func() bool { return s.Set(parenttest.ThingKey(name), types.UID(name), end) }
	}
	silently := func(do func()) func() bool { return func() bool { do(); return false } }
	later := fmt.Errorf("%w: conflict", controller.ErrLater)
	for i, step := range []struct {
		reason                            string
		do                                func() bool
		changed                           bool
		synced, failing, waiting, pending int32
	}{
		{"nothing was synced yet", silently(func() {}), false, 0, 0, 0, 2},
		{"a conflict says nothing", pass("a", End{Err: later}), false, 0, 0, 0, 2},
		{"the first success", pass("a", End{}), true, 1, 0, 0, 1},
		{"the first failure, which ends the sweep", pass("b", End{Err: parenttest.Thrown(3, "boom")}), true, 1, 1, 0, 0},
		{"the same failure again", pass("b", End{Err: parenttest.Thrown(3, "boom")}), false, 1, 1, 0, 0},
		{"other numbers in its message", pass("b", End{Err: parenttest.Thrown(3, "boom 7")}), true, 1, 1, 0, 0},
		{"are the same failure", pass("b", End{Err: parenttest.Thrown(3, "boom 8")}), false, 1, 1, 0, 0},
		{"another line of the script is another", pass("b", End{Err: parenttest.Thrown(4, "boom 8")}), true, 1, 1, 0, 0},
		{"a conflict does not end a failure", pass("b", End{Err: later}), false, 1, 1, 0, 0},
		{"a hook that waits does", pass("b", End{Waits: []variant.Wait{{Reason: "Late", Message: "m"}}}), true, 1, 0, 1, 0},
		{"and is not synced by the same answer", pass("b", End{Waits: []variant.Wait{{Reason: "Late", Message: "m"}}}), false, 1, 0, 1, 0},
		{"it recovers", pass("b", End{}), true, 2, 0, 0, 0},
		{"and goes on", pass("b", End{}), false, 2, 0, 0, 0},
		{"a new parent", silently(func() { parents++; s.Add(parenttest.ThingKey("c"), "c") }), false, 2, 0, 0, 1},
		{"fails", pass("c", End{Err: parenttest.Thrown(3, "boom")}), true, 2, 1, 0, 0},
		{"a failing parent is deleted", func() bool { parents--; return s.Forget(parenttest.ThingKey("c")) }, true, 2, 0, 0, 0},
		{"and forgotten once more", func() bool { return s.Forget(parenttest.ThingKey("c")) }, false, 2, 0, 0, 0},
		{"another one has its name", silently(func() { parents++; s.Add(parenttest.ThingKey("c"), "other") }), false, 2, 0, 0, 1},
		{"a lasting conflict", pass("a", End{Err: later}), false, 2, 0, 0, 1},
		{"is none within a minute", silently(func() { clock.Step(longPostponed) }), false, 2, 0, 0, 1},
		{"and a failure after it", pass("a", End{Err: later}), true, 1, 1, 0, 1},
		{"a host that is busy", pass("c", End{Err: parenttest.BusyHost}), false, 1, 1, 0, 1},
		{"for longer than a minute", silently(func() { clock.Step(longPostponed) }), false, 1, 1, 0, 1},
		{"has parents wait, and not fail", pass("c", End{Err: parenttest.BusyHost}), true, 1, 1, 1, 0},
		{"a conflict after it says nothing for a minute", pass("c", End{Err: later}), false, 1, 1, 1, 0},
		{"a parent comes again", silently(func() { s.Forget(parenttest.ThingKey("c")); s.Add(parenttest.ThingKey("c"), "other") }), false, 1, 1, 0, 1},
		{"an edit of the definition keeps what is known", silently(func() {
			s.BeginSweep([]controller.Key{parenttest.ThingKey("a"), parenttest.ThingKey("c")})
			parents = 2
		}), false, 0, 1, 0, 1},
		{"and drops parents that it has no more", silently(func() { s.BeginSweep([]controller.Key{parenttest.ThingKey("c")}); parents = 1 }), false, 0, 0, 0, 1},
	} {
		changed := step.do()
		got := s.Summary(parents)
		want := Summary{Parents: parents, Synced: step.synced, Failing: step.failing, Waiting: step.waiting, Pending: step.pending}
		counted := Summary{Parents: got.Parents, Synced: got.Synced, Failing: got.Failing, Waiting: got.Waiting, Pending: got.Pending}
		if diff := cmp.Diff(want, counted); diff != "" || changed != step.changed {
			t.Errorf("step %d: %s: changed is %v (-want +got):\n%s", i, step.reason, changed, diff)
		}
	}
	s.Set(parenttest.ThingKey("c"), "other", End{})
	if len(s.byParent)+len(s.pending) != 0 {
		t.Errorf("parents that are synced take memory: %v", s.byParent)
	}
}

// TestSweep checks that a summary says so while the parents are synced for the first time, also after an edit.
func TestSweep(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0))
	s := NewStates(clock)
	for range 2 {
		s.BeginSweep([]controller.Key{parenttest.ThingKey("a"), parenttest.ThingKey("b")})
		began := clock.Now()
		clock.Step(time.Second)
		s.Set(parenttest.ThingKey("a"), "a", End{})
		if got := s.Summary(2); !got.Sweeping || !got.SweepBegan.Equal(began) {
			t.Errorf("after half of the parents: %+v", got)
		}
		s.Set(parenttest.ThingKey("b"), "b", End{})
		if s.Summary(2).Sweeping {
			t.Error("all parents are synced")
		}
	}
	s.Add(parenttest.ThingKey("c"), "c")
	if s.Summary(3).Sweeping {
		t.Error("a new parent begins a sweep")
	}
	s.BeginSweep([]controller.Key{parenttest.ThingKey("a"), parenttest.ThingKey("b")})
	s.Set(parenttest.ThingKey("a"), "a", End{})
	if !s.Forget(parenttest.ThingKey("b")) || s.Summary(1).Sweeping {
		t.Error("the deletion of the last parent that is not synced does not end the sweep, or says nothing of it")
	}
	if s.BeginSweep(nil); s.Summary(0).Sweeping {
		t.Error("a sweep over no parents does not end")
	}
}

// TestNamedParents checks which parents are named, and that this takes no order of maps.
func TestNamedParents(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(1000, 0).UTC())
	s := NewStates(clock)
	fail := func(name string, err error) { s.Set(parenttest.ThingKey(name), types.UID(name), End{Err: err}) }
	for i := range 100 {
		fail(fmt.Sprintf("many-%02d", 99-i), parenttest.Thrown(3, "boom"))
		clock.Step(time.Second)
	}
	name := func(named []ParentHealth) (names []string) {
		for _, r := range named {
			names = append(names, r.Parent.Name)
		}
		return names
	}
	got := s.Summary(1000)
	if diff := cmp.Diff([]string{"many-99", "many-98", "many-97"}, name(got.Failures)); diff != "" || got.Ways != 1 {
		t.Errorf("of one way, the oldest (-want +got):\n%s", diff)
	}
	fail("input", fmt.Errorf("input /Secret/x/a: %w", parenttest.Thrown(9, "other")))
	fail("refused", &failure.Error{Reason: variant.ReasonApplyFailed, Err: errors.New("Pod x/y: forbidden\nby whom")})
	fail("parent", errors.New("spec.selector: is required"))
	got = s.Summary(1000)
	if diff := cmp.Diff([]string{"many-99", "input", "parent"}, name(got.Failures)); diff != "" || got.Ways != 4 {
		t.Errorf("%d ways, each before a second one of another (-want +got):\n%s", got.Ways, diff)
	}
	want := ParentHealth{
		Parent: parenttest.ThingKey("input"), Reason: "HookFailed", Place: "sync.js:9:7", Since: clock.Now(),
		Message: "input /Secret/x/a: HookFailed: sync hook: sync.js:9:7: other",
	}
	if diff := cmp.Diff(want, got.Failures[1]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestManyFailingParents checks that parents that fail with one text share it, and that those with texts of their own keep little of them.
func TestManyFailingParents(t *testing.T) {
	const many, perParent = 10_000, 2 << 10
	long := strings.Repeat("x", 2<<10)
	for name, message := range map[string]func(i int) string{
		"one text":   func(int) string { return long },
		"many texts": func(i int) string { return fmt.Sprintf("%d %s", i, long) },
	} {
		s := NewStates(clocktesting.NewFakeClock(time.Unix(1000, 0)))
		keys := make([]controller.Key, many)
		for i := range keys {
			keys[i] = parenttest.ThingKey(fmt.Sprintf("thing-%d", i))
		}
		before := heapBytes()
		for i, key := range keys {
			s.Set(key, "uid", End{Err: parenttest.Thrown(3, message(i))})
		}
		took := heapBytes() - before
		if got := s.Summary(many); got.Failing != many || len(got.Failures) != maxNamed || got.Ways != 1 {
			t.Errorf("%s: %d fail in %d ways, and %d are named", name, got.Failing, got.Ways, len(got.Failures))
		}
		if took > many*perParent {
			t.Errorf("%s: %d bytes for each parent that fails", name, took/many)
		}
		t.Logf("%s: %d bytes for each", name, took/many)
		for _, key := range keys {
			s.Set(key, "uid", End{})
		}
		if len(s.byParent) != 0 || s.total != (counts{}) {
			t.Errorf("%s: parents that are synced are kept", name)
		}
		runtime.KeepAlive(keys)
	}
}

// heapBytes returns the memory that is in use.
func heapBytes() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestInputsOfMaps checks the counts of inputs over several parents.
func TestInputsOfMaps(t *testing.T) {
	s := NewStates(clocktesting.NewFakeClock(time.Unix(1000, 0)))
	wait := []variant.Wait{{Input: "/Secret/x/a", Reason: "Late"}}
	for i, step := range []struct {
		reason                   string
		parent                   string
		outcome                  End
		synced, failing, waiting int32
	}{
		{"all are mapped", "a", End{Inputs: 5, InputsKnown: true}, 5, 0, 0},
		{"those of another parent are added", "b", End{Inputs: 3, InputsKnown: true}, 8, 0, 0},
		{"some fail, and one waits", "a", End{Err: parenttest.Thrown(1, "x"), Waits: wait, Inputs: 5, FailingInputs: 2, InputsKnown: true}, 5, 2, 1},
		{"a parent that fails before has none that is synced", "b", End{Err: parenttest.Thrown(1, "x")}, 2, 5, 1},
		{"they are synced again", "b", End{Inputs: 4, InputsKnown: true}, 6, 2, 1},
		{"all of them", "a", End{Inputs: 5, InputsKnown: true}, 9, 0, 0},
	} {
		s.Set(parenttest.ThingKey(step.parent), types.UID(step.parent), step.outcome)
		got := s.Summary(2)
		if got.SyncedInputs != step.synced || got.FailingInputs != step.failing || got.WaitingInputs != step.waiting {
			t.Errorf("step %d: %s: %+v", i, step.reason, got)
		}
	}
	s.Forget(parenttest.ThingKey("a"))
	s.Forget(parenttest.ThingKey("b"))
	if s.total != (counts{}) {
		t.Errorf("inputs of parents that are gone are counted: %+v", s.total)
	}
}
