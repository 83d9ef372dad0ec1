package parent

import (
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

func version(v string) func(map[string]any) {
	return func(m map[string]any) { m["resourceVersion"] = v }
}

func withUID(uid string) func(map[string]any) {
	return func(m map[string]any) { m["uid"] = uid }
}

func TestAheadOfAnUpdate(t *testing.T) {
	cases := map[string]struct {
		reason string
		events []informer.Event
		cached *unstructured.Unstructured
		want   string // resourceVersion
	}{
		"NotSeenYet":    {"The cache shows the version that was replaced.", nil, object("c", version("11")), "13"},
		"Between":       {"The cache shows a write of ours before the last.", nil, object("c", version("12")), "13"},
		"Shown":         {"The cache shows the write.", nil, object("c", version("13")), "13"},
		"Overtaken":     {"The cache shows something newer.", nil, object("c", version("14")), "14"},
		"Another":       {"The cache shows another object of that name.", nil, object("c", version("11"), withUID("other")), "11"},
		"LateEvent":     {"The event of a replaced version comes late and confirms nothing.", []informer.Event{{New: object("c", version("11"))}, {New: object("c", version("12"))}}, object("c", version("11")), "13"},
		"Confirmed":     {"The event of the write ends it.", []informer.Event{{New: object("c", version("13"))}}, object("c", version("11")), "11"},
		"Gone":          {"The deletion of the object ends it.", []informer.Event{{Old: object("c", version("11"))}}, object("c", version("11")), "11"},
		"EarlierGone":   {"The deletion of an earlier object of that name does not.", []informer.Event{{Old: object("c", version("10"), withUID("earlier"))}}, object("c", version("11")), "13"},
		"NotComparable": {"Versions that are no numbers are told apart, if not ordered.", nil, object("c", version("x")), "x"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := newPendingWrites(clocktesting.NewFakeClock(time.Unix(0, 0)))
			a.noteWritten("p-uid", object("c", version("12")), false)
			a.noteWritten("p-uid", object("c", version("13")), false)
			for _, e := range tc.events {
				a.observe(e)
			}
			if got := a.newest(tc.cached).GetResourceVersion(); got != tc.want {
				t.Errorf("%s\nversion %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestAheadOfACreation(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := newPendingWrites(clock)
	a.noteWritten("p-uid", object("c", version("5")), true)
	a.noteWritten("p-uid", object("c", version("6")), false)
	created := a.createdBy("p-uid")
	if len(created) != 1 || created[0].GetResourceVersion() != "6" {
		t.Fatalf("created %v, want c as it is after its update", names(created))
	}
	if got := a.createdBy("other"); got != nil {
		t.Errorf("another owner created %v", names(got))
	}
	a.observe(informer.Event{Old: object("c", withUID("earlier"))})
	if got := a.createdBy("p-uid"); len(got) != 1 {
		t.Error("the end of an earlier object of that name made the creation forgotten: it would be made twice")
	}
	a.observe(informer.Event{New: object("c", version("6"))})
	if got := a.createdBy("p-uid"); got != nil {
		t.Errorf("created %v after the cache showed it", names(got))
	}

	a.noteWritten("p-uid", object("c", version("7")), true)
	clock.SetTime(clock.Now().Add(pendingWriteTTL + time.Second))
	if got := a.createdBy("p-uid"); got != nil {
		t.Errorf("created %v for ever, though no event ever came", names(got))
	}
}

func TestAheadOfAnObjectThatIsGone(t *testing.T) {
	a := newPendingWrites(clocktesting.NewFakeClock(time.Unix(0, 0)))
	a.observe(informer.Event{New: object("c")})
	a.observe(informer.Event{Old: object("c")})
	a.noteWritten("p-uid", object("c"), true)
	if got := a.createdBy("p-uid"); got != nil {
		t.Errorf("%v was deleted before the answer to its creation was read, and is thought to be there", names(got))
	}
}

func TestAheadOfADeletion(t *testing.T) {
	a := newPendingWrites(clocktesting.NewFakeClock(time.Unix(0, 0)))
	cached := object("c")
	a.noteDeleted("p-uid", cached)
	a.observe(informer.Event{New: cached})
	if a.newest(cached).GetDeletionTimestamp() == nil {
		t.Error("an object that was deleted is not being deleted: it would be deleted again")
	}
	if cached.GetDeletionTimestamp() != nil {
		t.Error("the cached object was changed")
	}
	later := object("c", version("2"))
	a.observe(informer.Event{Old: cached, New: later})
	if a.newest(later) != later {
		t.Error("the cache knows more and is not believed")
	}
}

// What is no longer of use is forgotten though nothing is written and no event comes.
func TestAheadForgets(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := newPendingWrites(clock)
	defer a.close()
	for _, name := range []string{"a", "b", "c"} {
		a.noteWritten("p-uid", object(name), true)
		a.observe(informer.Event{Old: object("gone" + name)})
	}
	count := func() int {
		a.mu.Lock()
		defer a.mu.Unlock()
		return len(a.writes) + len(a.created["p-uid"]) + a.deletedUIDs.len()
	}
	if got := count(); got != 9 {
		t.Fatalf("%d things are remembered, want 3 writes, 3 creations and 3 ends", got)
	}
	passes(t, clock, func() bool { return count() == 0 })
	passes(t, clock, func() bool { return !clock.HasWaiters() })
}

// A creation that no event shows is reported once, one that was shown is not.
func TestAheadReportsWhatNoEventShows(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	a := newPendingWrites(clock)
	defer a.close()
	reported := make(chan string, 10)
	a.unconfirmed = func(o *unstructured.Unstructured) { reported <- o.GetName() }
	for _, name := range []string{"shown", "lost"} {
		a.noteWritten("p-uid", object(name), true)
	}
	a.noteWritten("p-uid", object("updated"), false)
	a.observe(informer.Event{New: object("shown")})
	passes(t, clock, func() bool { return len(reported) > 0 })
	passes(t, clock, func() bool { return !clock.HasWaiters() })
	if got := <-reported; got != "lost" || len(reported) > 0 {
		t.Errorf("%s was reported and %d more, want lost only", got, len(reported))
	}
}

// passes lets time go by until done, which it must be within ten seconds of real time.
func passes(t *testing.T, clock *clocktesting.FakeClock, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !done(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatal("nothing came of it")
		}
		clock.Step(time.Second)
	}
}
