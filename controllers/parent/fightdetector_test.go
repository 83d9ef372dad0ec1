package parent

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
)

// ring is where writers meet: a detector, the time, and what a hook is given.
type ring struct {
	*testing.T
	*fightDetector
	time  *clocktesting.FakePassiveClock
	now   fightInputs
	loops []*hotLoop
}

func newRing(t *testing.T) *ring {
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return &ring{T: t, fightDetector: newFightDetector(clock), time: clock}
}

func (r *ring) by(fightSubject) fightInputs { return r.now }

func (r *ring) wait(d time.Duration) { r.time.SetTime(r.time.Now().Add(d)) }

func (r *ring) tell(loop *hotLoop) {
	if loop != nil {
		r.loops = append(r.loops, loop)
	}
}

func child(name string) fightSubject {
	return fightSubject{parent: "p", child: apply.Key{Kind: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Namespace: "n", Name: name}}
}

// held reports whether a subject is left alone.
func (r *ring) held(s fightSubject) bool { return r.backoff(s, r.by) > 0 }

// set writes a field of a child, unless that is left alone, and reports whether it was.
func (r *ring) set(name string, diff fielddiff.Diff) bool {
	s := child(name)
	if s.field = anyField; r.held(s) {
		return false
	}
	s.field = diff.Path
	r.tell(r.wrote(s, diff, r.by))
	return true
}

// pass makes a pass over the parent, which deletes and creates.
func (r *ring) pass(deletes, creates []string) (written int) {
	r.begin("p")
	for _, name := range deletes {
		if s := child(name); !r.held(s) && !r.held(s.kind()) {
			r.tell(r.deleted(s, false, r.by))
			written++
		}
	}
	for _, name := range creates {
		if s := child(name); r.recreates(s) || !r.held(s) && !r.held(s.kind()) {
			r.tell(r.created(s, r.by))
			written++
		}
	}
	r.wait(20 * time.Millisecond)
	return written
}

var undo = fielddiff.Diff{Path: "a", From: "theirs", To: "ours"}

func TestFightOverAField(t *testing.T) {
	always := func(int) fielddiff.Diff { return undo }
	cases := map[string]struct {
		reason string
		write  func(n int) fielddiff.Diff
		every  time.Duration
		times  int
		held   bool
	}{
		"Undone":   {"A field that is set back after every write is left alone after the tenth time.", always, time.Second, 11, true},
		"OneFewer": {"One time fewer is still tolerated.", always, time.Second, 10, false},
		"Seldom":   {"A field that is set back now and then is no loop.", always, undoneWithin / 5, 100, false},
		"Counter": {"A hook that changes a field all the time is no loop: what was written is found as it was.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: "a", From: fmt.Sprint(n), To: fmt.Sprint(n + 1)}
			}, time.Second, 100, false},
		"TimeInTheField": {"A value that differs each time is fought over as any other.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: "a", From: "theirs", To: fmt.Sprint(n)}
			}, time.Second, 11, true},
		"DifferentFields": {"Each field counts by itself.",
			func(n int) fielddiff.Diff {
				return fielddiff.Diff{Path: fmt.Sprint(n % 4), From: "theirs", To: "ours"}
			}, time.Second, 40, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newRing(t), 0
			for n := range tc.times {
				if r.set("c", tc.write(n)) {
					written++
				}
				r.wait(tc.every)
			}
			s := child("c")
			s.field = anyField
			if held := r.held(s); held != tc.held || written != tc.times || len(r.loops) > 0 != tc.held {
				t.Errorf("%s\nleft alone: %v after %d of %d writes, told %d times", tc.reason, held, written, tc.times, len(r.loops))
			}
		})
	}
}

func TestBackoffGrows(t *testing.T) {
	r := newRing(t)
	for n, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
		for r.set("c", undo) {
		}
		s := child("c")
		s.field = anyField
		if got := r.backoff(s, r.by); got != want || len(r.loops) != n+1 || r.loops[n].rest != want {
			t.Errorf("left alone for %s, told %d times, want %s", got, len(r.loops), want)
		}
		r.wait(want)
	}
	r.wait(3 * restAtMost)
	r.set("other", undo)
	if len(r.fights) != 0 || r.histories.len() != 1 {
		t.Errorf("%d fights and %d histories are remembered, want that of the last write", len(r.fights), r.histories.len())
	}
}

// TestEditsEndABackoff has a fight, then an edit every so often while it goes on.
func TestEditsEndABackoff(t *testing.T) {
	cases := map[string]struct {
		reason string
		during func(r *ring, n int)
		edit   func(r *ring, n int)
		edits  int
		most   int // writes
		least  int
	}{
		"Wish":     {"What is desired of the child changes.", nil, func(r *ring, _ int) { r.now[wanted]++ }, 1, 12, 12},
		"Parent":   {"The parent's spec or the scripts change.", nil, func(r *ring, _ int) { r.now[given]++ }, 1, 12, 12},
		"Marks":    {"The parent's labels or annotations change.", nil, func(r *ring, _ int) { r.now[annotated]++ }, 1, 12, 12},
		"Related":  {"A related object changes.", nil, func(r *ring, _ int) { r.now[others]++ }, 1, 12, 12},
		"Repaired": {"A wish that changes each time ends nothing, but the script that is repaired does.", func(r *ring, _ int) { r.now[wanted]++ }, func(r *ring, _ int) { r.now[given]++ }, 1, 12, 12},
		"EachTime": {"A wish that changes each time, such as one with the time in it, does not evade the detector.",
			func(r *ring, _ int) { r.now[wanted]++ }, func(r *ring, _ int) { r.now[wanted]++ }, 1000, 11, 11},
		"EachSecond": {"Nor does one that changes more slowly than the fight goes.",
			nil, func(r *ring, _ int) { r.now[wanted]++ }, 1000, 11 + fickleAfter, 11},
		"OwnAnnotation": {"Nor does one that writes the time to the parent as well.",
			func(r *ring, _ int) { r.now[wanted]++; r.now[annotated]++ }, func(r *ring, _ int) { r.now[wanted]++; r.now[annotated]++ }, 1000, 11, 11},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newRing(t), 0
			for n := 0; r.set("c", undo); n++ {
				if tc.during != nil {
					tc.during(r, n)
				}
				written++
			}
			for n := range tc.edits {
				tc.edit(r, n)
				if r.set("c", undo) {
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

// TestHonestEditAfterAFight: the other side has given in, and another field is edited.
func TestHonestEditAfterAFight(t *testing.T) {
	r := newRing(t)
	for r.set("c", undo) {
	}
	r.now[wanted]++
	for n := range 5 {
		if !r.set("c", fielddiff.Diff{Path: "b", From: fmt.Sprint(n), To: fmt.Sprint(n + 1)}) {
			t.Errorf("edit %d of another field is held up", n)
		}
		r.now[wanted]++
	}
	if len(r.loops) != 1 {
		t.Errorf("%d loops were told, want the one that was", len(r.loops))
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
		play   func(r *ring) (written int)
		most   int // writes of 1000 passes
		told   string
	}{
		"War": {"Somebody deletes what is created, and creates what is deleted.",
			func(r *ring) int { return r.pass([]string{"theirs"}, []string{"ours"}) }, 2 * (undoneOften + 1), "ours"},
		"WarOverMany": {"Over many children it is told once.", func(r *ring) int { return r.pass(nil, numbered("c-%d", 0, 50)) }, 50 * (undoneOften + 1), "c-0"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r, written := newRing(t), 0
			for range 1000 {
				written += tc.play(r)
			}
			if written > tc.most || len(r.loops) != 1 || r.loops[0].child.Name != tc.told && r.loops[0].child.Name != "theirs" {
				t.Errorf("%s\n%d writes, want at most %d, and %d loops, want one of %s", tc.reason, written, tc.most, len(r.loops), tc.told)
			}
		})
	}
}

func TestChangingNames(t *testing.T) {
	r, written := newRing(t), 0
	for n := range 1000 {
		r.now[wanted]++
		written += r.pass([]string{fmt.Sprint("c-", n)}, []string{fmt.Sprint("c-", n+1)})
	}
	if most := 2*(undoneOften+1) + 1; written > most || len(r.loops) != 1 {
		t.Fatalf("%d writes, want at most %d, and %d loops, want 1", written, most, len(r.loops))
	}
	if loop := r.loops[0]; loop.From != "ConfigMap n/c-9" || loop.To != "ConfigMap n/c-10" || loop.child.Name != "" {
		t.Errorf("told %s, from %s to %s", loop.child, loop.From, loop.To)
	}
	other := child("c")
	other.parent = "other"
	if r.held(other.kind()) {
		t.Error("another parent is held up too")
	}
	if r.deleted(child("again"), true, r.by); r.pass(nil, []string{"again"}) != 1 {
		t.Error("a child that was deleted to be created anew stays away")
	}
	if r.now[given]++; r.pass([]string{"c-11"}, []string{"c-12"}) != 2 {
		t.Error("an edit of the script does not end it")
	}
}

// TestOwnOscillation: a hook that wants a child only if it is not there.
func TestOwnOscillation(t *testing.T) {
	r, written := newRing(t), 0
	for range 500 {
		written += r.pass(nil, []string{"c"}) + r.pass([]string{"c"}, nil)
	}
	if most := 2 * (undoneOften + 1); written > most || len(r.loops) != 1 {
		t.Errorf("%d writes, want at most %d, and %d loops, want 1", written, most, len(r.loops))
	}
}

func TestHonestChurn(t *testing.T) {
	cases := map[string]struct {
		reason string
		play   func(r *ring, n int)
	}{
		"Scaling": {"Somebody scales the parent up and down.", func(r *ring, _ int) {
			r.now[given]++
			r.pass(nil, numbered("c-%d", 0, 20))
			r.now[given]++
			r.pass(numbered("c-%d", 0, 20), nil)
		}},
		"Jobs": {"Children that have finished are replaced by others: a pass has seen them at work.", func(r *ring, n int) {
			r.pass(nil, numbered("job-%d", 20*n, 20))
			r.pass(nil, nil)
			r.pass(numbered("job-%d", 20*n, 20), nil)
		}},
		"JobsInTurn": {"So it is if they take turns.", func(r *ring, n int) {
			r.pass([]string{fmt.Sprint("job-", n-2)}, []string{fmt.Sprint("job-", n)})
		}},
		"Previews": {"Environments come and go with the inputs.", func(r *ring, n int) {
			r.now[others]++
			r.pass([]string{fmt.Sprint("preview-", n-1)}, []string{fmt.Sprint("preview-", n)})
		}},
		"Recreate": {"A rolling Recreate deletes and creates.", func(r *ring, n int) {
			for i := range 20 {
				r.begin("p")
				r.tell(r.deleted(child(fmt.Sprint("c-", i)), true, r.by))
				r.pass(nil, []string{fmt.Sprint("c-", i)})
			}
		}},
		"DeletedByHand": {"All children are deleted by hand, twice a minute.", func(r *ring, _ int) {
			r.pass(nil, numbered("c-%d", 0, 1000))
			r.wait(30 * time.Second)
		}},
		"Mass": {"A thousand children are created, and deleted at once as another answer comes.", func(r *ring, n int) {
			r.pass(nil, numbered(fmt.Sprint(n)+"-%d", 0, 1000))
			r.pass(numbered(fmt.Sprint(n)+"-%d", 0, 1000), nil)
			r.wait(10 * time.Second)
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := newRing(t)
			for n := range 100 {
				tc.play(r, n)
				if len(r.loops) > 0 {
					t.Fatalf("%s\nround %d is taken for a hot loop: %+v", tc.reason, n, r.loops[0])
				}
			}
		})
	}
}

// BenchmarkFightDetector shows that a write takes the same among few and among many children.
func BenchmarkFightDetector(b *testing.B) {
	for _, children := range []int{10, 100_000} {
		b.Run(fmt.Sprint(children), func(b *testing.B) {
			clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
			d := newFightDetector(clock)
			by := func(fightSubject) fightInputs { return fightInputs{} }
			subjects := make([]fightSubject, children)
			for i := range subjects {
				subjects[i] = child(fmt.Sprint(i))
				subjects[i].field = "data.text"
				d.wrote(subjects[i], undo, by)
			}
			b.ResetTimer()
			for i := range b.N {
				if i%1000 == 0 {
					clock.SetTime(clock.Now().Add(time.Second))
				}
				d.wrote(subjects[i%children], fielddiff.Diff{Path: "a", From: "ours", To: "ours"}, by)
			}
		})
	}
}
