package parent

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
)

const (
	// undoneOften is how many times in undoneWithin what was written has to be found
	// undone before it is left alone.
	undoneOften  = 10
	undoneWithin = time.Minute
	// restAtFirst is how long it is left alone then; it doubles each time, up to restAtMost.
	restAtFirst = time.Minute
	restAtMost  = time.Hour
	// fickleAfter is how many times in a fight something has to change to be taken for
	// something that changes by itself, and not by an edit.
	fickleAfter = 3
)

// fightDetector notices that what is written to a child is undone, again and again,
// and has it left alone for a while. It is told of the writes that the API server has
// accepted. A field that the hook itself keeps changing is no fight: then what was
// written is found as it was. Each write takes the same time, however many children there are.
type fightDetector struct {
	clock     clock.PassiveClock
	mu        sync.Mutex
	histories *generations[fightSubject, *rewriteHistory]
	fights    map[fightSubject]*fight
}

// fightSubject is what is fought over: a field of a child, all its fields, whether it is
// there, or, without a name, which children of its kind the parent has.
type fightSubject struct {
	parent types.UID
	child  apply.Key
	field  string
}

const (
	existence = ""  // of a child
	anyField  = "*" // of a child
)

// rewriteHistory is how a subject was last written, and when that was found undone.
type rewriteHistory struct {
	written fielddiff.Diff
	known   bool // what it was written to
	undone  []undoing
	// pass counts the passes over a parent. Of a child that is there it is the one that
	// created it, and by its circumstances; of a kind the last one with an undoing.
	pass int
	by   fightInputs
	// recreate says that a child was deleted to be created anew.
	recreate bool
}

// undoing is one time that a write was found undone.
type undoing struct {
	at time.Time
	by fightInputs
}

// fight is a subject that is left alone, or soon will be.
type fight struct {
	next        time.Duration // how long the next backoff is
	until, last time.Time
	by          fightInputs // when it was last left alone
	fickle      [len(fightInputs{})]bool
	told        time.Time // of a kind
}

// hotLoop is a fight that is to be told: its fightSubject, how that was last written, and
// how long it is left alone. Of a kind the difference is two names.
type hotLoop struct {
	fightSubject
	fielddiff.Diff
	rest time.Duration
}

// Whether a child is there is written like a field.
var (
	creation = fielddiff.Diff{To: "there"}
	deletion = fielddiff.Diff{From: "there"}
)

func newFightDetector(clock clock.PassiveClock) *fightDetector {
	return &fightDetector{
		clock: clock, histories: newGenerations[fightSubject, *rewriteHistory](undoneWithin, clock.Now()), fights: map[fightSubject]*fight{},
	}
}

// backoff returns how long a subject is still left alone, or zero. An edit ends that:
// a change of the circumstances, but for those that kept changing during the fight.
func (d *fightDetector) backoff(s fightSubject, by func(fightSubject) fightInputs) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, now := d.fights[s], d.clock.Now()
	if f == nil || !now.Before(f.until) {
		return 0
	}
	for i, current := range by(s) {
		if current != f.by[i] && !f.fickle[i] {
			f.until = now
			return 0
		}
	}
	return f.until.Sub(now)
}

// near reports whether one more undoing may be one too many.
func (d *fightDetector) near(s fightSubject) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fights[s]
	return f != nil && d.clock.Since(f.last) < undoneWithin
}

// recreates reports whether a child is to be created because it was deleted for that.
func (d *fightDetector) recreates(s fightSubject) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.histories.get(s)
	return ok && h.recreate
}

// begin notes that a pass over a parent is about to write children.
func (d *fightDetector) begin(parent types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.histories.get(fightSubject{parent: parent}); ok {
		h.pass++
	}
}

// wrote notes how a field of a child was written. It returns a fight that is to be
// told, or nil.
func (d *fightDetector) wrote(s fightSubject, diff fielddiff.Diff, by func(fightSubject) fightInputs) *hotLoop {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.note(s, d.history(s), diff, by)
}

// created notes that a child was created: a fight, if somebody else keeps deleting it.
func (d *fightDetector) created(s fightSubject, by func(fightSubject) fightInputs) *hotLoop {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, passes := d.history(s), d.history(fightSubject{parent: s.parent})
	passes.pass = max(passes.pass, 1)
	h.pass, h.by, h.recreate = passes.pass, by(s), false
	return d.note(s, h, creation, by)
}

// deleted notes that a child was deleted, perhaps to be created anew. It is a fight if
// somebody else keeps creating it, and if pass after pass deletes what the one before
// has created, though the hooks were given nothing new but children.
func (d *fightDetector) deleted(s fightSubject, recreate bool, by func(fightSubject) fightInputs) *hotLoop {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, pass := d.history(s), d.history(fightSubject{parent: s.parent}).pass
	made, madeBy := h.pass, h.by
	h.pass, h.recreate = 0, recreate
	if recreate {
		h.written, h.known = deletion, true
		return nil
	}
	loop := d.note(s, h, deletion, by)
	if now := by(s); loop != nil || made == 0 || made+1 != pass || madeBy[given] != now[given] || madeBy[others] != now[others] {
		return loop
	}
	name := s.child.String()
	s = s.kind()
	h = d.history(s)
	h.written.From, h.written.To = h.written.To, name
	if h.pass == pass {
		return nil
	}
	h.pass = pass
	return d.count(s, h, by)
}

// note counts a write as an undoing if the subject is not as it was last written.
func (d *fightDetector) note(s fightSubject, h *rewriteHistory, diff fielddiff.Diff, by func(fightSubject) fightInputs) *hotLoop {
	before, known := h.written, h.known
	h.written, h.known = diff, true
	if !known || !diff.Undoes(before) {
		return nil
	}
	return d.count(s, h, by)
}

// count notes an undoing, and leaves the subject alone if it is one too many.
func (d *fightDetector) count(s fightSubject, h *rewriteHistory, by func(fightSubject) fightInputs) *hotLoop {
	now := d.clock.Now()
	for len(h.undone) > 0 && (now.Sub(h.undone[0].at) >= undoneWithin || len(h.undone) >= undoneOften) {
		h.undone = h.undone[1:]
	}
	whole := s
	if s.field != existence {
		whole.field = anyField
	}
	h.undone = append(h.undone, undoing{now, by(whole)})
	if len(h.undone) < undoneOften-1 {
		return nil
	}
	f := d.fight(whole, now)
	if len(h.undone) < undoneOften || now.Before(f.until) {
		return nil
	}
	loop := &hotLoop{fightSubject: s, Diff: h.written, rest: f.next}
	f.begin(now, h.undone)
	if s.field == existence && !d.firstOfKind(s, now) {
		return nil
	}
	return loop
}

// fight returns the fight over a fightSubject, which begins to loom if there is none.
func (d *fightDetector) fight(s fightSubject, now time.Time) *fight {
	f := d.fights[s]
	if f == nil {
		f = &fight{next: restAtFirst}
		d.fights[s] = f
	}
	f.last = now
	return f
}

// begin leaves the subject alone from now on.
func (f *fight) begin(now time.Time, undone []undoing) {
	f.until, f.next = now.Add(f.next), min(2*f.next, restAtMost)
	f.by = undone[len(undone)-1].by
	for i := range f.fickle {
		changes := 0
		for k := 1; k < len(undone); k++ {
			if undone[k].by[i] != undone[k-1].by[i] {
				changes++
			}
		}
		f.fickle[i] = changes >= fickleAfter
	}
}

// firstOfKind reports whether nothing was told lately of the children of that kind, so
// that a parent with many children is told of once.
func (d *fightDetector) firstOfKind(s fightSubject, now time.Time) bool {
	f := d.fight(s.kind(), now)
	first := f.told.IsZero() || now.Sub(f.told) >= undoneWithin
	f.told = now
	return first
}

// kind returns the subject of all children of a child's kind.
func (s fightSubject) kind() fightSubject {
	return fightSubject{parent: s.parent, child: apply.Key{Kind: s.child.Kind}}
}

// history returns what is known of a fightSubject, and keeps it for another while.
func (d *fightDetector) history(s fightSubject) *rewriteHistory {
	now := d.clock.Now()
	if d.histories.turn(now) {
		d.forgetFights(now)
	}
	h, ok := d.histories.get(s)
	if !ok {
		h = &rewriteHistory{}
	}
	d.histories.put(s, h)
	return h
}

// forgetFights drops those that ended long ago. There are few, and it is called seldom.
func (d *fightDetector) forgetFights(now time.Time) {
	for s, f := range d.fights {
		if quiet := now.Sub(f.last); quiet > 2*restAtMost || f.until.IsZero() && quiet > undoneWithin {
			delete(d.fights, s)
		}
	}
}
