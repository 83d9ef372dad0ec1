package writes

import (
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/controllers/parent/parenttest"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

func TestPendingUpdate(t *testing.T) {
	cases := map[string]struct {
		reason string
		events []informer.Event
		cached *unstructured.Unstructured
		want   string // resourceVersion
	}{
		"NotObserved": {"The cache shows the version that was replaced.", nil, parenttest.Object("c", parenttest.AtVersion("11")), "13"},
		"Between":     {"The cache shows a write of ours before the last.", nil, parenttest.Object("c", parenttest.AtVersion("12")), "13"},
		"Shown":       {"The cache shows the write.", nil, parenttest.Object("c", parenttest.AtVersion("13")), "13"},
		"Newer":       {"The cache shows a newer version.", nil, parenttest.Object("c", parenttest.AtVersion("14")), "14"},
		"Another":     {"The cache shows another object of that name.", nil, parenttest.Object("c", parenttest.AtVersion("11"), parenttest.WithUID("other")), "11"},
		"LateEvent": {
			"The event of a replaced version comes late and confirms nothing.",
			[]informer.Event{{New: parenttest.Object("c", parenttest.AtVersion("11"))}, {New: parenttest.Object("c", parenttest.AtVersion("12"))}}, parenttest.Object("c", parenttest.AtVersion("11")), "13",
		},
		"Confirmed": {
			"The event of the write ends it.", []informer.Event{{New: parenttest.Object("c", parenttest.AtVersion("13"))}}, parenttest.Object("c", parenttest.AtVersion("11")), "11",
		},
		"Gone": {
			"The deletion of the object ends it.", []informer.Event{{Old: parenttest.Object("c", parenttest.AtVersion("11"))}}, parenttest.Object("c", parenttest.AtVersion("11")), "11",
		},
		"EarlierGone": {
			"The deletion of an earlier object of that name does not.",
			[]informer.Event{{Old: parenttest.Object("c", parenttest.AtVersion("10"), parenttest.WithUID("earlier"))}}, parenttest.Object("c", parenttest.AtVersion("11")), "13",
		},
		"NotComparable": {"Versions that are not numbers only differ.", nil, parenttest.Object("c", parenttest.AtVersion("x")), "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := NewPending(clocktesting.NewFakeClock(time.Unix(0, 0)))
			a.NoteWritten("p-uid", parenttest.Object("c", parenttest.AtVersion("12")), false)
			a.NoteWritten("p-uid", parenttest.Object("c", parenttest.AtVersion("13")), false)
			for _, e := range tc.events {
				a.Observe(e)
			}
			if got := a.Newest(tc.cached).GetResourceVersion(); got != tc.want {
				t.Errorf("%s\nversion %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestPendingCreation(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := NewPending(clock)
	a.NoteWritten("p-uid", parenttest.Object("c", parenttest.AtVersion("5")), true)
	a.NoteWritten("p-uid", parenttest.Object("c", parenttest.AtVersion("6")), false)
	created := a.CreatedBy("p-uid")
	if len(created) != 1 || created[0].GetResourceVersion() != "6" {
		t.Fatalf("created %v, want c after its update", parenttest.Names(created))
	}
	if got := a.CreatedBy("other"); got != nil {
		t.Errorf("another owner created %v", parenttest.Names(got))
	}
	a.Observe(informer.Event{Old: parenttest.Object("c", parenttest.WithUID("earlier"))})
	if got := a.CreatedBy("p-uid"); len(got) != 1 {
		t.Error("the deletion of an earlier object of that name dropped the creation: it would be repeated")
	}
	a.Observe(informer.Event{New: parenttest.Object("c", parenttest.AtVersion("6"))})
	if got := a.CreatedBy("p-uid"); got != nil {
		t.Errorf("created %v after the cache showed it", parenttest.Names(got))
	}

	a.NoteWritten("p-uid", parenttest.Object("c", parenttest.AtVersion("7")), true)
	clock.SetTime(clock.Now().Add(pendingWriteTTL + time.Second))
	if got := a.CreatedBy("p-uid"); got != nil {
		t.Errorf("%v never expires without an event", parenttest.Names(got))
	}
}

func TestPendingCreationOfADeletedObject(t *testing.T) {
	a := NewPending(clocktesting.NewFakeClock(time.Unix(0, 0)))
	a.Observe(informer.Event{New: parenttest.Object("c")})
	a.Observe(informer.Event{Old: parenttest.Object("c")})
	a.NoteWritten("p-uid", parenttest.Object("c"), true)
	if got := a.CreatedBy("p-uid"); got != nil {
		t.Errorf("%v is kept, although it was deleted before the response to its creation was read", parenttest.Names(got))
	}
}

func TestPendingDeletion(t *testing.T) {
	a := NewPending(clocktesting.NewFakeClock(time.Unix(0, 0)))
	cached := parenttest.Object("c")
	a.NoteDeleted("p-uid", cached)
	a.Observe(informer.Event{New: cached})
	if a.Newest(cached).GetDeletionTimestamp() == nil {
		t.Error("a deleted object has no deletion timestamp: it would be deleted again")
	}
	if cached.GetDeletionTimestamp() != nil {
		t.Error("the cached object was changed")
	}
	later := parenttest.Object("c", parenttest.AtVersion("2"))
	a.Observe(informer.Event{Old: cached, New: later})
	if a.Newest(later) != later {
		t.Error("a newer version in the cache is ignored")
	}
}

// TestPendingWritesExpire checks that writes expire without other writes or events.
func TestPendingWritesExpire(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := NewPending(clock)
	defer a.Close()
	for _, name := range []string{"a", "b", "c"} {
		a.NoteWritten("p-uid", parenttest.Object(name), true)
		a.Observe(informer.Event{Old: parenttest.Object("gone" + name)})
	}
	count := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.writes) + len(a.created["p-uid"]) + a.deletedUIDs.Len()
	}
	if got := count(); got != 9 {
		t.Fatalf("%d entries, want 3 writes, 3 creations and 3 deletions", got)
	}
	stepUntil(t, clock, func() bool { return count() == 0 })
	stepUntil(t, clock, func() bool { return !clock.HasWaiters() })
}

// TestUnconfirmedCreation checks that a creation is reported once if no event shows it.
func TestUnconfirmedCreation(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := NewPending(clock)
	defer a.Close()
	reported := make(chan string, 10)
	a.Unconfirmed = func(o *unstructured.Unstructured) { reported <- o.GetName() }
	for _, name := range []string{"shown", "lost"} {
		a.NoteWritten("p-uid", parenttest.Object(name), true)
	}
	a.NoteWritten("p-uid", parenttest.Object("updated"), false)
	a.Observe(informer.Event{New: parenttest.Object("shown")})
	stepUntil(t, clock, func() bool { return len(reported) > 0 })
	stepUntil(t, clock, func() bool { return !clock.HasWaiters() })
	if got := <-reported; got != "lost" || len(reported) > 0 {
		t.Errorf("%s was reported and %d more, want lost only", got, len(reported))
	}
}

// TestObjectThatWasNeverSeen drops the writes of an object that came and went while a watch was down as soon as the cache is past it.
func TestObjectThatWasNeverSeen(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := NewPending(clock)
	defer a.Close()
	reported := make(chan string, 10)
	a.Unconfirmed = func(o *unstructured.Unstructured) { reported <- o.GetName() }
	a.Lacks = func(o *unstructured.Unstructured) bool { return o.GetName() == "gone" }
	for _, name := range []string{"gone", "late"} {
		a.NoteWritten("p-uid", parenttest.Object(name), true)
	}
	a.NoteDeleted("p-uid", parenttest.Object("gone"))
	stepUntil(t, clock, func() bool { return len(reported) > 0 })
	if got := <-reported; got != "gone" || clock.Since(time.Unix(0, 0)) >= pendingWriteTTL {
		t.Errorf("%s is reported after %s, want the one that is gone at once", got, clock.Since(time.Unix(0, 0)))
	}
	if left := parenttest.Names(a.CreatedBy("p-uid")); len(left) != 1 || left[0] != "late" {
		t.Errorf("%v are still expected, want the one that the cache may yet show", left)
	}
}

// stepUntil advances the clock until done, for at most ten seconds of real time.
func stepUntil(t *testing.T, clock *clocktesting.FakeClock, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("timed out")
		}
		clock.Step(time.Second)
	}
}
