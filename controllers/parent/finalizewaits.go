package parent

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// A finalize hook that answers without finalized holds the parent. This is reported after
	// minFinalizePause, again after twice that time, and so on up to maxFinalizePause.
	minFinalizePause = time.Minute
	maxFinalizePause = time.Hour
)

// finalizeWaits holds the parents that wait for their finalize hook. Kept in memory; starts anew
// with the process.
type finalizeWaits struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	pending map[controller.Key]*finalizeWait
}

// finalizeWait is the wait of one parent.
type finalizeWait struct {
	uid      types.UID
	due      time.Time     // of the next report
	pause    time.Duration // until the report after that
	reported bool
}

func newFinalizeWaits(clock clock.PassiveClock) *finalizeWaits {
	return &finalizeWaits{clock: clock, pending: map[controller.Key]*finalizeWait{}}
}

// note records that the hook has answered without finalized. It returns the time until the
// parent must be synced again, and reports whether to emit an event now, and whether that is the
// first.
func (f *finalizeWaits) note(key controller.Key, uid types.UID) (after time.Duration, tell, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	w := f.pending[key]
	if w == nil || w.uid != uid {
		w = &finalizeWait{uid: uid, due: now.Add(minFinalizePause), pause: 2 * minFinalizePause}
		f.pending[key] = w
	}
	if tell = !now.Before(w.due); tell {
		first, w.reported = !w.reported, true
		w.due, w.pause = now.Add(w.pause), min(2*w.pause, maxFinalizePause)
	}
	return w.due.Sub(now), tell, first
}

// end drops a parent that no longer waits. It reports whether its wait was reported.
func (f *finalizeWaits) end(key controller.Key) (reported bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.pending[key]
	delete(f.pending, key)
	return w != nil && w.reported
}

// Forget drops a parent that is gone.
func (f *finalizeWaits) Forget(key controller.Key) { f.end(key) }

// reported returns the parents whose wait was reported, sorted.
func (f *finalizeWaits) reported() []controller.Key {
	f.mu.Lock()
	defer f.mu.Unlock()
	var keys []controller.Key
	for key, w := range f.pending {
		if w.reported {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, func(a, b controller.Key) int { return cmp.Compare(a.String(), b.String()) })
	return keys
}

// Unfinalized returns the parents that a finalize hook has held for more than a minute, sorted.
func (r *Reconciler) Unfinalized() []controller.Key { return r.finalizeWaits.reported() }

// awaitFinalized reports a parent that its finalize hook holds for long, and has it synced when
// the next report is due. Such a sync calls no hook if nothing has changed.
func (p *pass) awaitFinalized(result controller.Result) controller.Result {
	if !p.config.Finalizing.Enabled {
		return result
	}
	if !p.observed.Finalizing || !p.source.HasFinalizer(p.parent) {
		if p.finalizeWaits.end(p.key) {
			p.config.Changed()
		}
		return result
	}
	after, tell, first := p.finalizeWaits.note(p.key, p.parent.GetUID())
	if tell {
		p.warnOnce(variant.ReasonNotFinalized, fmt.Sprintf(
			"the finalize hook has answered without finalized for more than a minute, and %s holds the object until it does: "+
				"mend the hook if it does not wait for something, or take that finalizer off to let the object go without it%s",
			p.config.Finalizing.Name, p.describeWaits()))
	}
	if first {
		p.config.Changed()
	}
	result.RequeueAfter = variant.Earlier(result.RequeueAfter, after)
	return result
}

// describeWaits returns what the hook says that it waits for, as the end of a sentence.
func (p *pass) describeWaits() string {
	waits := p.waits.Of(p.key)
	if len(waits) == 0 {
		return ""
	}
	return fmt.Sprintf(" (the hook says that it waits: %s)", waits[0])
}

// reportFinalized reports a sync hook that returns finalized, once for a revision of the scripts.
func (p *pass) reportFinalized(finalized bool) {
	f := p.config.Finalizing
	if !finalized || p.observed.Finalizing || f.Shared || !p.droppedFields.IsFirst(p.programs.Revision, variant.ReasonFinalizedIgnored) {
		return
	}
	remedy := "return it from the finalize hook only"
	if !f.Enabled {
		remedy = "the definition has no finalize hook, and the object is deleted without one: add hooks.finalize, or leave finalized out"
	}
	p.warnOfScripts(variant.ReasonFinalizedIgnored, fmt.Sprintf(
		"the sync hook returns finalized: true, which has no effect there: %s", remedy))
}
