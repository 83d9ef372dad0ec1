package loops

import "time"

const (
	// minFightBackoff is the first backoff. It doubles each time, up to maxFightBackoff.
	minFightBackoff = time.Minute
	maxFightBackoff = time.Hour
	// volatileAfter is how often an input has to change during a fight to count as one that
	// changes by itself and not by an edit.
	volatileAfter = 3
)

// fight is a subject that is in backoff, or close to it.
type fight struct {
	nextBackoff time.Duration // how long the next backoff is
	until, last time.Time
	edited      time.Time // when an edit ended a backoff
	inputs      Inputs    // at the start of the last backoff
	volatile    [len(Inputs{})]bool
	reported    time.Time // for a kind
	// cause is what the loop is, if it was reported. It changes only with what goes on.
	cause string
	// calmSince is since when passes find nothing that they must not write, or zero.
	calmSince time.Time
}

// Backoff returns the remaining backoff of a subject, or zero. It ends early if an input changes
// that did not keep changing during the fight, as after an edit.
func (d *Detector) Backoff(s Subject, by inputsFunc) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, now := d.fights[s], d.clock.Now()
	if f == nil || !now.Before(f.until) {
		return 0
	}
	for i, current := range by(s) {
		if current != f.inputs[i] && !f.volatile[i] {
			f.until, f.edited = now, now
			return 0
		}
	}
	f.calmSince = time.Time{}
	return f.until.Sub(now)
}

// IsNear reports whether the next undo may start a backoff.
func (d *Detector) IsNear(s Subject) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fights[s]
	return f != nil && d.clock.Since(f.last) < FightWindow
}

// fight returns the fight over a subject, and adds one if there is none.
func (d *Detector) fight(s Subject, now time.Time) *fight {
	f := d.fights[s]
	if f == nil {
		f = &fight{nextBackoff: minFightBackoff}
		d.fights[s] = f
	}
	f.last = now
	return f
}

// startBackoff starts a backoff and finds the inputs that changed by themselves during the
// fight.
func (f *fight) startBackoff(now time.Time, undone []undo) {
	f.until, f.nextBackoff, f.calmSince = now.Add(f.nextBackoff), min(2*f.nextBackoff, maxFightBackoff), time.Time{}
	f.inputs = undone[len(undone)-1].inputs
	for i := range f.volatile {
		changes := 0
		for k := 1; k < len(undone); k++ {
			if undone[k].inputs[i] != undone[k-1].inputs[i] {
				changes++
			}
		}
		f.volatile[i] = changes >= volatileAfter
	}
}
