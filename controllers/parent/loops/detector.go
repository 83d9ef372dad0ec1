// Package loops finds hot loops: children that are written again and again, because another writer
// undoes the writes, or because each write causes the next.
package loops

import (
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/apply/fielddiff"
	"github.com/libretto-k8s/libretto/controllers/parent/expiring"
)

const (
	// A subject backs off once its writes were found undone FightThreshold times within
	// FightWindow.
	FightThreshold = 10
	FightWindow    = time.Minute
)

// Detector detects writes of children that are undone again and again, and has them back
// off. It is notified of the writes that the API server has accepted. A hook that keeps changing
// a field is no fight: each write finds the last one in place. The cost of a write does not
// depend on the number of children.
type Detector struct {
	clock clock.PassiveClock
	seed  maphash.Seed
	mu    sync.Mutex
	// histories has a small entry for each subject that was written lately, by its hash: there may be many.
	histories *expiring.Map[uint64, *rewriteHistory]
	fights    map[Subject]*fight
	reported  map[Subject]*fight // those that have a cause
	// The rest is for feedback loops, by hashes of subjects.
	rewrites *expiring.Map[uint64, rewrites]
	Own      ownWrites
	rate     *RateLimiter[uint64]
}

// inputsFunc returns the inputs of a subject in a pass.
type inputsFunc = func(Subject) Inputs

// Subject is what is written: a field of a child, all its fields, its existence, or,
// without a name, the set of children of its kind. A part of the parent is a field of the parent itself.
type Subject struct {
	Parent types.UID
	Child  apply.Key
	Field  string
	// Feedback is set for the writes of an object that are their own consequence, which are counted apart.
	Feedback bool
}

const (
	Existence = ""  // of a child
	AnyField  = "*" // of a child
	// Parts of a parent. The second is labels and annotations.
	ParentStatus   = "status"
	ParentMetadata = "metadata"
)

// rewriteHistory is the last write of a subject, and when earlier ones were found undone.
type rewriteHistory struct {
	written uint64 // stands for what the last write left, if known
	// madeBy stands for the inputs that an edit changes, when the child was created, or for what it is to be created as again.
	madeBy uint64
	undos  []undo
	names  *[2]string // of the last children that were created and deleted again. Only a kind has them.
	// pass counts the passes over a parent. For a child that exists it is the pass that created
	// it. For a kind it is the last pass with an undo.
	pass  uint32
	known bool // written is set
	// recreate is set while a deleted child is to be created again, and another once it was created as something else than it was
	// deleted for.
	recreate, another bool
}

// undo is one time that a write was found undone.
type undo struct {
	at     time.Time
	inputs Inputs
}

// Loop is a fight to report: its subject, the last write and the backoff. For a kind the
// difference consists of two names. Of a field the detector knows neither path nor values: its caller does.
type Loop struct {
	Subject
	fielddiff.Diff
	fight   *fight
	Created bool // The last write created the child.
	Backoff time.Duration
}

// The existence of a child is tracked like a field.
var (
	creation = fielddiff.Mark{To: 1}
	deletion = fielddiff.Mark{From: 1}
)

// NewDetector returns a Detector that has seen no writes.
func NewDetector(clock clock.PassiveClock) *Detector {
	return &Detector{
		clock: clock, seed: maphash.MakeSeed(), histories: expiring.New[uint64, *rewriteHistory](FightWindow, clock.Now()),
		fights: map[Subject]*fight{}, reported: map[Subject]*fight{},
		rewrites: expiring.New[uint64, rewrites](FightWindow, clock.Now()),
		Own:      ownWrites{byHash: expiring.New[uint64, ownWrite](FightWindow, clock.Now()), parts: map[string]bool{}},
		rate:     NewRateLimiter[uint64](clock, MaxRewrites, rewriteInterval),
	}
}

// IsRecreating reports whether a child was deleted to be created again.
func (d *Detector) IsRecreating(s Subject) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, ok := d.histories.Get(d.hash(s))
	return ok && h.recreate
}

// BeginPass must be called before a pass writes children of a parent.
func (d *Detector) BeginPass(parent types.UID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h, ok := d.histories.Get(d.hash(Subject{Parent: parent})); ok {
		h.pass++
	}
}

// NoteUpdate records an update of a field of a child, whose subject is all of its fields. It returns a fight to report, or nil.
func (d *Detector) NoteUpdate(s Subject, mark fielddiff.Mark, by inputsFunc) *Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.history(d.hash(s) ^ mark.Path)
	if child, ok := d.histories.Get(d.hash(s.Object())); ok && child.another {
		h.known = false // It was not written like that.
	}
	return d.noteWrite(s, h, mark, by)
}

// NoteCreate records the creation of a child. It returns a fight to report if another writer
// keeps deleting the child.
func (d *Detector) NoteCreate(s Subject, by inputsFunc) *Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, passes := d.history(d.hash(s)), d.history(d.hash(Subject{Parent: s.Parent}))
	passes.pass = max(passes.pass, 1)
	h.another = h.recreate && h.madeBy != by(s)[DesiredInput]
	h.pass, h.madeBy, h.recreate = passes.pass, by(s.Kind()).Edit(), false
	return d.noteWrite(s, h, creation, by)
}

// NoteDelete records the deletion of a child, perhaps to create it again. It returns a fight to
// report if another writer keeps creating the child, or if pass after pass deletes what the one
// before created although only children have changed.
func (d *Detector) NoteDelete(s Subject, recreate bool, by inputsFunc) *Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	h, pass := d.history(d.hash(s)), d.history(d.hash(Subject{Parent: s.Parent})).pass
	made, madeBy := h.pass, h.madeBy
	h.pass, h.recreate = 0, recreate
	if recreate {
		h.written, h.known, h.madeBy = deletion.To, true, by(s)[DesiredInput]
		return nil
	}
	loop := d.noteWrite(s, h, deletion, by)
	if loop != nil || made == 0 || made+1 != pass || madeBy != by(s.Kind()).Edit() {
		return loop
	}
	name := s.Child.String()
	s = s.Kind()
	h = d.history(d.hash(s))
	if h.names == nil {
		h.names = &[2]string{}
	}
	*h.names = [2]string{h.names[1], name}
	if h.pass == pass {
		return nil
	}
	h.pass = pass
	if loop = d.countUndo(s, h, by); loop != nil {
		loop.Diff = fielddiff.Diff{From: h.names[0], To: h.names[1]}
	}
	return loop
}

// noteWrite counts an undo if the subject is not as it was last written.
func (d *Detector) noteWrite(s Subject, h *rewriteHistory, mark fielddiff.Mark, by inputsFunc) *Loop {
	undone := h.known && mark.Undoes(fielddiff.Mark{To: h.written})
	if h.written, h.known = mark.To, true; !undone {
		return nil
	}
	loop := d.countUndo(s, h, by)
	if loop != nil {
		loop.Created = mark == creation
	}
	return loop
}

// countUndo records an undo, and starts a backoff at FightThreshold.
func (d *Detector) countUndo(s Subject, h *rewriteHistory, by inputsFunc) *Loop {
	now := d.clock.Now()
	// The first write after an edit finds what the other writer had set before: that does not show that the fight goes on.
	f := d.fights[s]
	first := f != nil && len(h.undos) > 0 && f.edited.After(h.undos[len(h.undos)-1].at)
	for len(h.undos) > 0 && (now.Sub(h.undos[0].at) >= FightWindow || len(h.undos) >= FightThreshold) {
		h.undos = h.undos[1:]
	}
	h.undos = append(h.undos, undo{now, by(s)})
	if len(h.undos) < FightThreshold-1 {
		return nil
	}
	f = d.fight(s, now)
	if first || len(h.undos) < FightThreshold || now.Before(f.until) {
		return nil
	}
	loop := &Loop{Subject: s, fight: f, Backoff: f.nextBackoff}
	f.startBackoff(now, h.undos)
	if (s.Field == Existence || s.Field == AnyField && s.Feedback) && !d.firstOfKind(s, now) {
		return nil
	}
	return loop
}

// firstOfKind reports whether no fight over children of that kind was reported lately, so that a
// parent with many children gets one event.
func (d *Detector) firstOfKind(s Subject, now time.Time) bool {
	f := d.fight(s.Kind(), now)
	first := f.reported.IsZero() || now.Sub(f.reported) >= FightWindow
	f.reported = now
	return first
}

// Kind returns the subject for all children of the child's kind.
func (s Subject) Kind() Subject {
	return Subject{Parent: s.Parent, Child: apply.Key{Kind: s.Child.Kind}, Feedback: s.Feedback}
}

// hash returns the key of a subject's history. Two have the same by chance in one of 2^64.
func (d *Detector) hash(s Subject) uint64 { return maphash.Comparable(d.seed, s) }

// history returns the history of a subject with that hash and prolongs its life.
func (d *Detector) history(hash uint64) *rewriteHistory {
	now := d.clock.Now()
	if d.histories.Rotate(now) {
		d.forgetFights(now)
	}
	h, ok := d.histories.Get(hash)
	if !ok {
		h = &rewriteHistory{}
	}
	d.histories.Put(hash, h)
	return h
}

// Expire drops histories of writes that are long ago, also if no more follow.
func (d *Detector) Expire() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if now := d.clock.Now(); d.histories.Rotate(now) {
		d.forgetFights(now)
		d.rewrites.Rotate(now)
		d.Own.rotate(now)
	}
}

// forgetFights drops fights that ended long ago. There are few, and it is called rarely.
func (d *Detector) forgetFights(now time.Time) {
	for s, f := range d.fights {
		if quiet := now.Sub(f.last); quiet > 2*maxFightBackoff || f.until.IsZero() && quiet > FightWindow {
			delete(d.fights, s)
			delete(d.reported, s)
		}
	}
}

// NoteReported keeps what a loop is that was reported.
func (d *Detector) NoteReported(loop *Loop, cause string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	loop.fight.cause = cause
	d.reported[loop.Subject] = loop.fight
}

// NoteNoLoop records that a pass over a parent has found nothing that it must not write. edit stands for what only an edit changes: a loop
// that began before it is over at once, which it reports.
func (d *Detector) NoteNoLoop(parent types.UID, edit func() uint64) (over bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for s, f := range d.reported {
		switch {
		case s.Parent != parent:
		case f.inputs.Edit() != edit():
			delete(d.reported, s)
			over = true
		case f.calmSince.IsZero():
			f.calmSince = d.clock.Now()
		}
	}
	return over
}

// InForce returns what the loops are that go on, sorted. One is over a minute after the last backoff, or after passes find it over.
func (d *Detector) InForce() (causes []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.clock.Now()
	for _, f := range d.reported {
		calm := !f.calmSince.IsZero() && now.Sub(f.calmSince) >= FightWindow
		if !calm && now.Before(f.until.Add(FightWindow)) {
			causes = append(causes, f.cause)
		}
	}
	slices.Sort(causes)
	return slices.Compact(causes)
}
