package loops

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// fightEnv is a detector with a fake clock and the inputs of the hooks.
type fightEnv struct {
	*testing.T
	*Detector
	time  *clocktesting.FakePassiveClock
	now   Inputs
	loops []*Loop
}

func newFightEnv(t *testing.T) *fightEnv {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return &fightEnv{T: t, Detector: NewDetector(clock), time: clock}
}

func (r *fightEnv) by(Subject) Inputs { return r.now }

func (r *fightEnv) wait(d time.Duration) { r.time.SetTime(r.time.Now().Add(d)) }

func (r *fightEnv) report(loop *Loop) {
	if loop != nil {
		r.loops = append(r.loops, loop)
	}
}

func child(name string) Subject {
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	return Subject{Parent: "p", Child: apply.Key{Kind: kind, Namespace: "n", Name: name}}
}

// held reports whether a subject is in backoff.
func (r *fightEnv) held(s Subject) bool { return r.Backoff(s, r.by) > 0 }

// set writes a field of a child unless it is in backoff, and reports whether it did.
func (r *fightEnv) set(name string, diff fielddiff.Diff) bool {
	s := child(name)
	if s.Field = AnyField; r.held(s) {
		return false
	}
	r.report(r.NoteUpdate(s, fightMark(diff), r.by))
	return true
}

func fightMark(d fielddiff.Diff) fielddiff.Mark {
	return fielddiff.Mark{Path: jsonvalue.Hash(d.Path), From: jsonvalue.Hash(d.From), To: jsonvalue.Hash(d.To)}
}

// pass deletes and creates children of the parent in one pass.
func (r *fightEnv) pass(deletes, creates []string) (written int) {
	r.BeginPass("p")
	for _, name := range deletes {
		if s := child(name); !r.held(s) && !r.held(s.Kind()) {
			r.report(r.NoteDelete(s, false, r.by))
			written++
		}
	}
	for _, name := range creates {
		if s := child(name); r.IsRecreating(s) || !r.held(s) && !r.held(s.Kind()) {
			r.report(r.NoteCreate(s, r.by))
			written++
		}
	}
	r.wait(20 * time.Millisecond)
	return written
}

var undoing = fielddiff.Diff{Path: "a", From: "theirs", To: "ours"}

func TestFightOverAField(t *testing.T) {
	always := func(int) fielddiff.Diff { return undoing }
	cases := map[string]struct {
		reason string
		write  func(n int) fielddiff.Diff
		every  time.Duration
		times  int
		held   bool
	}{
		"Undone":   {"A field that is reset after every write backs off after the tenth time.", always, time.Second, 11, true},
		"OneFewer": {"One time fewer is tolerated.", always, time.Second, 10, false},
		"Rare":     {"A field that is reset now and then is no loop.", always, FightWindow / 5, 100, false},
		"Counter": {"A hook that changes a field all the time is no loop: each update finds the last one in place.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: "a", From: fmt.Sprint(n), To: fmt.Sprint(n + 1)}
			}, time.Second, 100, false},
		"TimeInTheField": {"A value that always differs is fought over like any other.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: "a", From: "theirs", To: fmt.Sprint(n)}
			}, time.Second, 11, true},
		"DifferentFields": {"Each field is counted separately.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: fmt.Sprint(n % 4), From: "theirs", To: "ours"}
			}, time.Second, 40, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newFightEnv(t), 0
			for n := range tc.times {
				if r.set("c", tc.write(n)) {
					written++
				}
				r.wait(tc.every)
			}
			s := child("c")
			s.Field = AnyField
			if held := r.held(s); held != tc.held || written != tc.times || len(r.loops) > 0 != tc.held {
				t.Errorf("%s\nbackoff: %v after %d of %d writes, %d reports", tc.reason, held, written, tc.times, len(r.loops))
			}
		})
	}
}

func TestBackoffGrows(t *testing.T) {
	r := newFightEnv(t)
	for n, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		for r.set("c", undoing) {
		}
		s := child("c")
		s.Field = AnyField
		if got := r.Backoff(s, r.by); got != want || len(r.loops) != n+1 || r.loops[n].Backoff != want {
			t.Errorf("backoff %s, %d reports, want %s", got, len(r.loops), want)
		}
		r.wait(want)
	}
	r.wait(3 * maxFightBackoff)
	r.set("other", undoing)
	if len(r.fights) != 0 || r.histories.Len() != 1 {
		t.Errorf("%d fights and %d histories are kept, want that of the last write", len(r.fights), r.histories.Len())
	}
}

// TestEditsEndABackoff starts a fight and makes edits while it goes on.
func TestEditsEndABackoff(t *testing.T) {
	cases := map[string]struct {
		reason string
		during func(r *fightEnv, n int)
		edit   func(r *fightEnv, n int)
		edits  int
		most   int // writes
		least  int
	}{
		"Desired":  {"The desired state of the child changes.", nil, func(r *fightEnv, _ int) { r.now[DesiredInput]++ }, 1, 12, 12},
		"Parent":   {"The parent's spec or the scripts change.", nil, func(r *fightEnv, _ int) { r.now[SpecInput]++ }, 1, 12, 12},
		"Metadata": {"The parent's labels or annotations change.", nil, func(r *fightEnv, _ int) { r.now[MetadataInput]++ }, 1, 12, 12},
		"Related":  {"A related object changes.", nil, func(r *fightEnv, _ int) { r.now[RelatedInput]++ }, 1, 12, 12},
		"Repaired": {
			"A desired state that always changes ends nothing, but a repaired script does.",
			func(r *fightEnv, _ int) { r.now[DesiredInput]++ }, func(r *fightEnv, _ int) { r.now[SpecInput]++ }, 1, 12, 12,
		},
		"EachTime": {"A desired state that always changes, such as one with the time in it, does not evade the detector.",
			func(r *fightEnv, _ int) { r.now[DesiredInput]++ }, func(r *fightEnv, _ int) { r.now[DesiredInput]++ }, 1000, 11, 11},
		"EachSecond": {"Nor does one that changes more slowly than the fight.",
			nil, func(r *fightEnv, _ int) { r.now[DesiredInput]++ }, 1000, 11 + volatileAfter, 11},
		"OwnAnnotation": {"Nor does one that writes the time to the parent as well.",
			func(r *fightEnv, _ int) { r.now[DesiredInput]++; r.now[MetadataInput]++ },
			func(r *fightEnv, _ int) { r.now[DesiredInput]++; r.now[MetadataInput]++ }, 1000, 11, 11},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newFightEnv(t), 0
			for n := 0; r.set("c", undoing); n++ {
				if tc.during != nil {
					tc.during(r, n)
				}
				written++
			}
			for n := range tc.edits {
				tc.edit(r, n)
				if r.set("c", undoing) {
					written++
				}
				r.wait(time.Millisecond)
			}
			if written < tc.least || written > tc.most {
				t.Errorf("%s\n%d writes, want %d to %d", tc.reason, written, tc.least, tc.most)
			}
		})
	}
}

// TestEditAfterAFight edits another field after the other writer has stopped.
func TestEditAfterAFight(t *testing.T) {
	r := newFightEnv(t)
	for r.set("c", undoing) {
	}
	r.now[DesiredInput]++
	for n := range 5 {
		if !r.set("c", fielddiff.Diff{Path: "b", From: fmt.Sprint(n), To: fmt.Sprint(n + 1)}) {
			t.Errorf("edit %d of another field is in backoff", n)
		}
		r.now[DesiredInput]++
	}
	if len(r.loops) != 1 {
		t.Errorf("%d loops were reported, want 1", len(r.loops))
	}
}

func numbered(format string, from, count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf(format, from+i)
	}
	return names
}

func TestFightOverChildren(t *testing.T) {
	cases := map[string]struct {
		reason string
		pass   func(r *fightEnv) (written int)
		most   int // writes of 1000 passes
		child  string
	}{
		"OneChild": {"Another writer deletes what is created, and creates what is deleted.",
			func(r *fightEnv) int { return r.pass([]string{"theirs"}, []string{"ours"}) }, 2 * (FightThreshold + 1), "ours"},
		"ManyChildren": {
			"A fight over many children is reported once.", func(r *fightEnv) int { return r.pass(nil, numbered("c-%d", 0, 50)) },
			50 * (FightThreshold + 1), "c-0",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newFightEnv(t), 0
			for range 1000 {
				written += tc.pass(r)
			}
			if written > tc.most || len(r.loops) != 1 || r.loops[0].Child.Name != tc.child && r.loops[0].Child.Name != "theirs" {
				t.Errorf("%s\n%d writes, want at most %d, and %d loops, want one of %s", tc.reason, written, tc.most, len(r.loops), tc.child)
			}
		})
	}
}

func TestChangingNames(t *testing.T) {
	r, written := newFightEnv(t), 0
	for n := range 1000 {
		r.now[DesiredInput]++
		written += r.pass([]string{fmt.Sprint("c-", n)}, []string{fmt.Sprint("c-", n+1)})
	}
	if most := 2*(FightThreshold+1) + 1; written > most || len(r.loops) != 1 {
		t.Fatalf("%d writes, want at most %d, and %d loops, want 1", written, most, len(r.loops))
	}
	if loop := r.loops[0]; loop.From != "ConfigMap n/c-9" || loop.To != "ConfigMap n/c-10" || loop.Child.Name != "" {
		t.Errorf("reported %s, from %s to %s", loop.Child, loop.From, loop.To)
	}
	other := child("c")
	other.Parent = "other"
	if r.held(other.Kind()) {
		t.Error("another parent is in backoff too")
	}
	if r.NoteDelete(child("again"), true, r.by); r.pass(nil, []string{"again"}) != 1 {
		t.Error("a child that was deleted to be created again is not created")
	}
	if r.now[SpecInput]++; r.pass([]string{"c-11"}, []string{"c-12"}) != 2 {
		t.Error("an edit of the script does not end the backoff")
	}
}

// TestOwnOscillation has a hook that wants a child only if it does not exist.
func TestOwnOscillation(t *testing.T) {
	r, written := newFightEnv(t), 0
	for range 500 {
		written += r.pass(nil, []string{"c"}) + r.pass([]string{"c"}, nil)
	}
	if most := 2 * (FightThreshold + 1); written > most || len(r.loops) != 1 {
		t.Errorf("%d writes, want at most %d, and %d loops, want 1", written, most, len(r.loops))
	}
}

func TestChurnIsNoFight(t *testing.T) {
	cases := map[string]struct {
		reason string
		pass   func(r *fightEnv, n int)
	}{
		"Scaling": {"A user scales the parent up and down.", func(r *fightEnv, _ int) {
			r.now[SpecInput]++
			r.pass(nil, numbered("c-%d", 0, 20))
			r.now[SpecInput]++
			r.pass(numbered("c-%d", 0, 20), nil)
		}},
		"Jobs": {"Finished children are replaced: a pass in between has observed them.", func(r *fightEnv, n int) {
			r.pass(nil, numbered("job-%d", 20*n, 20))
			r.pass(nil, nil)
			r.pass(numbered("job-%d", 20*n, 20), nil)
		}},
		"OverlappingJobs": {"The same, if jobs overlap.", func(r *fightEnv, n int) {
			r.pass([]string{fmt.Sprint("job-", n-2)}, []string{fmt.Sprint("job-", n)})
		}},
		"Previews": {"Environments come and go with the inputs.", func(r *fightEnv, n int) {
			r.now[RelatedInput]++
			r.pass([]string{fmt.Sprint("preview-", n-1)}, []string{fmt.Sprint("preview-", n)})
		}},
		"Recreate": {"A rolling Recreate deletes and creates.", func(r *fightEnv, n int) {
			for i := range 20 {
				r.BeginPass("p")
				r.report(r.NoteDelete(child(fmt.Sprint("c-", i)), true, r.by))
				r.pass(nil, []string{fmt.Sprint("c-", i)})
			}
		}},
		"DeletedByHand": {"All children are deleted by hand, twice a minute.", func(r *fightEnv, _ int) {
			r.pass(nil, numbered("c-%d", 0, 1000))
			r.wait(30 * time.Second)
		}},
		"Mass": {"A thousand children are created, and deleted at once after another answer.", func(r *fightEnv, n int) {
			r.pass(nil, numbered(fmt.Sprint(n)+"-%d", 0, 1000))
			r.pass(numbered(fmt.Sprint(n)+"-%d", 0, 1000), nil)
			r.wait(10 * time.Second)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newFightEnv(t)
			for n := range 100 {
				tc.pass(r, n)
				if len(r.loops) > 0 {
					t.Fatalf("%s\nround %d is reported as a hot loop: %+v", tc.reason, n, r.loops[0])
				}
			}
		})
	}
}

// TestDetectorExpires has many children written once, and none afterwards.
func TestDetectorExpires(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	d := NewDetector(clock)
	for i := range 100 {
		d.NoteCreate(child(fmt.Sprint(i)), func(Subject) Inputs { return Inputs{} })
	}
	for range 3 {
		clock.SetTime(clock.Now().Add(FightWindow))
		d.Expire()
	}
	if left := d.histories.Len(); left != 0 {
		t.Errorf("%d histories are kept of children that nobody writes any more", left)
	}
}

// TestDetectorIsSmall checks that a write of a large cluster's children leaves little behind for its minute or two.
func TestDetectorIsSmall(t *testing.T) {
	const children, most = 50_000, 300
	d := NewDetector(clocktesting.NewFakePassiveClock(time.Unix(0, 0)))
	by := func(Subject) Inputs { return Inputs{} }
	before := liveHeap()
	for i := range children {
		s := child(fmt.Sprint("a-name-that-takes-memory-of-its-own-", i))
		d.NoteCreate(s, by)
		s.Field = AnyField
		d.NoteUpdate(s, fightMark(undoing), by)
		d.NoteRewrite(s, by)
		d.NoteOwn(s.Object(), 0, 1)
	}
	each := (liveHeap() - before) / children
	runtime.KeepAlive(d)
	if each > most {
		t.Errorf("a child that was created and updated takes %d bytes, more than %d", each, most)
	}
}

func liveHeap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// BenchmarkFightDetector shows that the cost of a write does not depend on the number of children.
func BenchmarkFightDetector(b *testing.B) {
	for _, children := range []int{10, 100_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			d := NewDetector(clock)
			by := func(Subject) Inputs { return Inputs{} }
			subjects := make([]Subject, children)
			for i := range subjects {
				subjects[i] = child(fmt.Sprint(i))
				subjects[i].Field = "data.text"
				d.NoteUpdate(subjects[i], fightMark(undoing), by)
			}
			b.ResetTimer()
			for i := range b.N {
				if i%1000 == 0 {
					clock.SetTime(clock.Now().Add(time.Second))
				}
				d.NoteUpdate(subjects[i%children], fightMark(fielddiff.Diff{Path: "a", From: "ours", To: "ours"}), by)
			}
		})
	}
}

// rewrite has a hook write a child, or a part of the parent, unless that backs off, and reports whether it did.
func (r *fightEnv) rewrite(s Subject) bool {
	if r.RewriteBackoff(s, r.by) > 0 {
		return false
	}
	r.report(r.NoteRewrite(s, r.by))
	return true
}

// TestFeedback has something written again and again.
func TestFeedback(t *testing.T) {
	status := child("p")
	status.Field = ParentStatus
	object := child("c")
	object.Field = AnyField
	cases := map[string]struct {
		reason  string
		subject Subject
		// change is what changes before each write besides what was written.
		change func(n int, now *Inputs)
		every  time.Duration
		// writes are those of the first minute, of 1000 that are tried.
		writes int
		loop   bool
	}{
		"Child":    {"Writes that only the ones before explain are a loop.", object, nil, 50 * time.Millisecond, 21, true},
		"Status":   {"So are those of a status.", status, nil, 50 * time.Millisecond, 21, true},
		"Desired":  {"What is desired explains nothing.", status, func(n int, now *Inputs) { now[DesiredInput] = uint64(n) }, 50 * time.Millisecond, 21, true},
		"Others":   {"Writes that follow changes of others are slowed down, and are no loop.", status, func(n int, now *Inputs) { now[OthersInput] = uint64(n) }, 60 * time.Millisecond, 120, false},
		"Edits":    {"Nor are those that follow edits.", object, func(n int, now *Inputs) { now[SpecInput] = uint64(n) }, 60 * time.Millisecond, 120, false},
		"Timer":    {"What comes a second later is due to a timer.", status, nil, time.Second, 60, false},
		"Converge": {"Every second write is explained by others: it does not take long to be one too many.", object, func(n int, now *Inputs) { now[RelatedInput] = uint64(n / 2) }, 50 * time.Millisecond, 31, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, writes := newFightEnv(t), 0
			for n := 0; n < 1000 && r.time.Now().Before(time.Unix(60, 0)); n++ {
				if tc.change != nil {
					tc.change(n, &r.now)
				}
				if r.rewrite(tc.subject) {
					writes++
				}
				r.wait(tc.every)
			}
			if low, high := tc.writes*9/10, tc.writes*11/10+1; writes < low || writes > high || len(r.loops) > 0 != tc.loop {
				t.Errorf("%s\n%d writes in %s, %d loops, want about %d", tc.reason, writes, r.time.Now().Sub(time.Unix(0, 0)), len(r.loops), tc.writes)
			}
		})
	}
}

// TestFeedbackEnds checks what ends the backoff of a loop.
func TestFeedbackEnds(t *testing.T) {
	for input, name := range []string{SpecInput: "edit", RelatedInput: "related", OthersInput: "others"} {
		r := newFightEnv(t)
		s := child("c")
		s.Field = AnyField
		for n := 0; r.rewrite(s); n++ {
			r.now[DesiredInput]++
			r.wait(10 * time.Millisecond)
		}
		if r.now[DesiredInput]++; r.rewrite(s) {
			t.Fatal("another desired state ends the backoff")
		}
		if name == "" {
			continue
		}
		if r.now[input]++; !r.rewrite(s) {
			t.Errorf("%s: the backoff goes on", name)
		}
	}
}

// TestManyChildrenInOneLoop has one report for children that are written by the same passes.
func TestManyChildrenInOneLoop(t *testing.T) {
	r := newFightEnv(t)
	for range 40 {
		for _, name := range []string{"a", "b", "c"} {
			s := child(name)
			s.Field = AnyField
			r.rewrite(s)
		}
		r.wait(50 * time.Millisecond)
	}
	if len(r.loops) != 1 {
		t.Errorf("%d reports, want one for all children", len(r.loops))
	}
}

// TestOwnWrites tells what this process wrote from what others did.
func TestOwnWrites(t *testing.T) {
	r := newFightEnv(t)
	s := child("c")
	same := func(reason string, state, want uint64) {
		t.Helper()
		if got := r.OriginOf(s, state); got != want {
			t.Errorf("%s: the origin of %d is %d, want %d", reason, state, got, want)
		}
	}
	same("never written", 1, 1)
	r.NoteOwn(s, 1, 2)
	same("written", 2, 1)
	same("the same pass looks at it as it was", 1, 1)
	r.NoteOwn(s, 2, 3)
	same("written twice", 3, 1)
	same("changed by others", 7, 7)
	r.NoteOwn(s, 7, 8)
	same("written on that", 8, 7)
	r.NoteOwn(s, 8, 0)
	r.NoteOwn(s, 0, 9)
	same("deleted and created again", 9, 7)
	for range 2 {
		r.wait(2 * FightWindow)
		r.NoteOwn(child("other"), 1, 2)
	}
	same("written long ago", 9, 9)
}

// TestEditResolvesAFight edits what is fought over: the write that follows finds what the other writer has left, and is no fight.
func TestEditResolvesAFight(t *testing.T) {
	r := newFightEnv(t)
	for r.set("c", undoing) {
	}
	r.wait(time.Second)
	r.now[SpecInput]++
	agreed := fielddiff.Diff{Path: "a", From: "theirs", To: "agreed"}
	if !r.set("c", agreed) || len(r.loops) != 1 {
		t.Errorf("after an edit %d loops are reported, want 1 of before", len(r.loops))
	}
	r.wait(time.Second)
	if !r.set("c", agreed) || r.set("c", agreed) || len(r.loops) != 2 {
		t.Errorf("the fight goes on, and %d loops are reported, want 2", len(r.loops))
	}
}

// TestRecreatedAsAnother recreates a child because of a field. If the hooks answer something else when it is created, nobody has set back
// what it was deleted for.
func TestRecreatedAsAnother(t *testing.T) {
	for _, other := range []bool{false, true} {
		r := newFightEnv(t)
		for n := range 2 * FightThreshold {
			r.now[DesiredInput] = uint64(2 * n)
			if r.set("c", fielddiff.Diff{Path: "a", From: fmt.Sprint(2*n - 1), To: fmt.Sprint(2 * n)}) {
				r.report(r.NoteDelete(child("c"), true, r.by))
			}
			r.wait(time.Second)
			if other {
				r.now[DesiredInput]++
			}
			r.report(r.NoteCreate(child("c"), r.by))
		}
		if len(r.loops) > 0 == other {
			t.Errorf("created as another: %v; %d loops are reported", other, len(r.loops))
		}
	}
}

// TestLoopsInForce shows when a definition has hot loops.
func TestLoopsInForce(t *testing.T) {
	r := newFightEnv(t)
	in := func(reason string, want int) {
		t.Helper()
		if got := r.InForce(); len(got) != want {
			t.Errorf("%s: %q are in force, want %d", reason, got, want)
		}
	}
	calm := func() { r.NoteNoLoop("p", func() uint64 { return r.now.Edit() }) }
	start := func() {
		for r.set("c", undoing) {
		}
		r.NoteReported(r.loops[len(r.loops)-1], "a loop")
	}
	in("nothing was written", 0)
	start()
	in("backoff", 1)
	r.wait(time.Minute)
	in("the backoff is just over", 1)
	start()
	in("the second backoff", 1)
	r.wait(4 * time.Minute)
	in("long after it", 0)
	start()
	calm()
	in("a pass finds nothing to hold back", 1)
	r.wait(30 * time.Second)
	s := child("c")
	s.Field = AnyField
	if !r.held(s) {
		t.Fatal("no backoff")
	}
	r.wait(40 * time.Second)
	in("one after it does", 1)
	calm()
	r.wait(61 * time.Second)
	in("none does for a minute", 0)
	r.wait(time.Hour)
	start()
	in("again", 1)
	r.now[SpecInput]++
	calm()
	in("an edit has ended it", 0)
}
