package parent

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/expiring"
)

const (
	// The first freeRewrites of an object that come within rewriteGap of the one before are not looked at: a hook may get somewhere in
	// several steps. What a timer asks for comes later than that.
	freeRewrites = 10
	rewriteGap   = time.Second
	// An object that is written without a pause, for whatever reason, is written maxRewrites times, and then once in rewriteInterval.
	maxRewrites     = 50
	rewriteInterval = time.Second
)

// rewrites are the last writes of one object, or of one part of a parent.
type rewrites struct {
	at    int64 // in nanoseconds, of the last one
	quick int   // how many came soon after the one before, up to freeRewrites
	// inputs stands for the inputs of the last one, if it was looked at.
	inputs uint64
}

// noteRewrite records that an object that was there is written, whatever its fields. It returns a feedback loop to report: again and
// again the object is written soon after the last time, although nothing has changed but what this process wrote.
func (d *fightDetector) noteRewrite(s fightSubject, by inputsFunc) *hotLoop {
	d.mu.Lock()
	defer d.mu.Unlock()
	s.feedback = true
	hash, now := d.hash(s), d.clock.Now()
	d.rewrites.Rotate(now)
	last, known := d.rewrites.Get(hash)
	next := rewrites{at: now.UnixNano(), quick: last.quick}
	quick := known && time.Duration(next.at-last.at) < rewriteGap
	if quick && next.quick < freeRewrites {
		next.quick++
	}
	if next.quick == freeRewrites {
		d.rate.take(hash)
		inputs := by(s)
		inputs[desiredInput] = 0
		next.inputs = maphash.Comparable(d.seed, inputs)
	}
	d.rewrites.Put(hash, next)
	if !quick || next.quick < freeRewrites || next.inputs != last.inputs {
		return nil
	}
	return d.countUndo(s, d.history(hash), by)
}

// rewriteBackoff returns how long an object must not be written, or zero.
func (d *fightDetector) rewriteBackoff(s fightSubject, by inputsFunc) time.Duration {
	fight := d.backoff(s, by)
	s.feedback = true
	return max(fight, d.backoff(s, by), d.rate.delay(d.hash(s)))
}

// ownWrites knows what this process has left objects as, so that what others make of them can be told from it. It forgets what was
// written minutes ago.
type ownWrites struct {
	mu     sync.Mutex
	byHash *expiring.Map[uint64, ownWrite] // of subjects: there may be many
	parts  map[string]bool                 // of parents, that were ever written
}

// ownWrite is a write that made one state of an object another. origin is the state that the first of several in a row has found.
type ownWrite struct{ from, to, origin uint64 }

// noteOwn records a write of this process. The state of what is not there is 0.
func (d *fightDetector) noteOwn(s fightSubject, from, to uint64) {
	o, hash := &d.own, d.hash(s)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byHash.Rotate(d.clock.Now())
	o.byHash.Put(hash, ownWrite{from, to, o.origin(hash, from)})
	if s.field != existence {
		o.parts[s.field] = true
	}
}

// noteWriter records that the definition writes a part of its parents, if it differs from what a hook returns.
func (o *ownWrites) noteWriter(part string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.parts[part] = true
}

// hasWritten reports whether that part of any parent was written, or would be if it differed.
func (o *ownWrites) hasWritten(part string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.parts[part]
}

func (o *ownWrites) rotate(now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.byHash.Rotate(now)
}

// originOf returns the state of an object from which this process has made state, without others. It is state itself if others made that.
func (d *fightDetector) originOf(s fightSubject, state uint64) uint64 {
	d.own.mu.Lock()
	defer d.own.mu.Unlock()
	return d.own.origin(d.hash(s), state)
}

func (o *ownWrites) origin(hash, state uint64) uint64 {
	if w, ok := o.byHash.Get(hash); ok && (state == w.to || state == w.from) {
		return w.origin
	}
	return state
}

// feedbackInputs returns the inputs with which a subject is written, as they would be without what this process wrote: a write that finds
// the same as the last one is its own consequence.
func (p *pass) feedbackInputs(s fightSubject, now fightInputs) fightInputs {
	if p.hashed.origins == nil {
		p.hashOrigins()
	}
	now[metadataInput] = 0 // It is one of the origins.
	now[othersInput] = p.hashed.allOrigins - p.hashed.origins[s.object()]
	return now
}

// hashOrigins hashes the origins of the children and of the parts of the parent, whose sum does not depend on their order.
func (p *pass) hashOrigins() {
	p.hashed.origins = make(map[fightSubject]uint64, len(p.observed.Children)+2)
	add := func(s fightSubject, state uint64) {
		origin := p.detector.originOf(s, state)
		hash := p.hash(func(h *maphash.Hash) {
			maphash.WriteComparable(h, s)
			maphash.WriteComparable(h, origin)
		})
		p.hashed.origins[s] = hash
		p.hashed.allOrigins += hash
	}
	for _, child := range p.observed.Children {
		add(fightSubject{parent: p.parent.GetUID(), child: apply.KeyOf(child)}, p.passCache.VersionOf(child))
	}
	for _, part := range []string{parentMetadata, parentStatus} {
		add(p.parentSubject(part), p.hashPart(p.observed.Parent, part))
	}
}

// object returns the subject of the writes of an object, or of a part of a parent, whatever they do to it.
func (s fightSubject) object() fightSubject {
	s.feedback = false
	if s.field == anyField {
		s.field = existence
	}
	return s
}
