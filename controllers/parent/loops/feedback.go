package loops

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/controllers/parent/expiring"
)

const (
	// The first FreeRewrites of an object that come within rewriteGap of the one before are not looked at: a hook may get somewhere in
	// several steps. What a timer asks for comes later than that.
	FreeRewrites = 10
	rewriteGap   = time.Second
	// An object that is written without a pause, for whatever reason, is written MaxRewrites times, and then once in rewriteInterval.
	MaxRewrites     = 50
	rewriteInterval = time.Second
)

// rewrites are the last writes of one object, or of one part of a parent.
type rewrites struct {
	at    int64 // in nanoseconds, of the last one
	quick int   // how many came soon after the one before, up to FreeRewrites
	// inputs stands for the inputs of the last one, if it was looked at.
	inputs uint64
}

// NoteRewrite records that an object that was there is written, whatever its fields. It returns a feedback loop to report: again and
// again the object is written soon after the last time, although nothing has changed but what this process wrote.
func (d *Detector) NoteRewrite(s Subject, by inputsFunc) *Loop {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.Feedback = true
	hash, now := d.hash(s), d.clock.Now()
	d.rewrites.Rotate(now)
	last, known := d.rewrites.Get(hash)
	next := rewrites{at: now.UnixNano(), quick: last.quick}
	quick := known && time.Duration(next.at-last.at) < rewriteGap
	if quick && next.quick < FreeRewrites {
		next.quick++
	}
	if next.quick == FreeRewrites {
		d.rate.Take(hash)
		inputs := by(s)
		inputs[DesiredInput] = 0
		next.inputs = maphash.Comparable(d.seed, inputs)
	}
	d.rewrites.Put(hash, next)
	if !quick || next.quick < FreeRewrites || next.inputs != last.inputs {
		return nil
	}
	return d.countUndo(s, d.history(hash), by)
}

// RewriteBackoff returns how long an object must not be written, or zero.
func (d *Detector) RewriteBackoff(s Subject, by inputsFunc) time.Duration {
	fight := d.Backoff(s, by)
	s.Feedback = true
	return max(fight, d.Backoff(s, by), d.rate.delay(d.hash(s)))
}

// ownWrites knows what this process has left objects as, so that changes by others can be distinguished from it. It forgets what was
// written minutes ago.
type ownWrites struct {
	mu     sync.Mutex
	byHash *expiring.Map[uint64, ownWrite] // of subjects: there may be many
	parts  map[string]bool                 // of parents, that were ever written
}

// ownWrite is a write that made one state of an object another. origin is the state that the first of several in a row has found.
type ownWrite struct{ from, to, origin uint64 }

// NoteOwn records a write of this process. The state of what is not there is 0.
func (d *Detector) NoteOwn(s Subject, from, to uint64) {
	o, hash := &d.Own, d.hash(s)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byHash.Rotate(d.clock.Now())
	o.byHash.Put(hash, ownWrite{from, to, o.origin(hash, from)})
	if s.Field != Existence {
		o.parts[s.Field] = true
	}
}

// NoteWriter records that the definition writes a part of its parents, if it differs from what a hook returns.
func (o *ownWrites) NoteWriter(part string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parts[part] = true
}

// HasWritten reports whether that part of any parent was written, or would be if it differed.
func (o *ownWrites) HasWritten(part string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.parts[part]
}

func (o *ownWrites) rotate(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byHash.Rotate(now)
}

// OriginOf returns the state of an object from which this process has made state, without others. It is state itself if others made that.
func (d *Detector) OriginOf(s Subject, state uint64) uint64 {
	d.Own.mu.Lock()
	defer d.Own.mu.Unlock()
	return d.Own.origin(d.hash(s), state)
}

func (o *ownWrites) origin(hash, state uint64) uint64 {
	if w, ok := o.byHash.Get(hash); ok && (state == w.to || state == w.from) {
		return w.origin
	}
	return state
}

// Object returns the subject of the writes of an object, or of a part of a parent, whatever they do to it.
func (s Subject) Object() Subject {
	s.Feedback = false
	if s.Field == AnyField {
		s.Field = Existence
	}
	return s
}
