package finalizers

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/controller"
)

const (
	// A finalize hook that answers without finalized holds the parent. This is reported after
	// minFinalizePause, again after twice that time, and so on up to maxFinalizePause.
	minFinalizePause = time.Minute
	maxFinalizePause = time.Hour
)

// Waits holds the parents that wait for their finalize hook. Kept in memory; starts anew
// with the process.
type Waits struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	pending map[controller.Key]*wait
}

// wait is the wait of one parent.
type wait struct {
	uid      types.UID
	due      time.Time     // of the next report
	pause    time.Duration // until the report after that
	reported bool
}

// NewWaits returns an empty record.
func NewWaits(clock clock.PassiveClock) *Waits {
	return &Waits{clock: clock, pending: map[controller.Key]*wait{}}
}

// Note records that the hook has answered without finalized. It returns the time until the
// parent must be synced again, and reports whether to emit an event now, and whether that is the
// first.
func (f *Waits) Note(key controller.Key, uid types.UID) (after time.Duration, report, first bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	w := f.pending[key]
	if w == nil || w.uid != uid {
		w = &wait{uid: uid, due: now.Add(minFinalizePause), pause: 2 * minFinalizePause}
		f.pending[key] = w
	}
	if report = !now.Before(w.due); report {
		first, w.reported = !w.reported, true
		w.due, w.pause = now.Add(w.pause), min(2*w.pause, maxFinalizePause)
	}
	return w.due.Sub(now), report, first
}

// End drops a parent that no longer waits. It reports whether its wait was reported.
func (f *Waits) End(key controller.Key) (reported bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w := f.pending[key]
	delete(f.pending, key)
	return w != nil && w.reported
}

// Forget drops a parent that is gone.
func (f *Waits) Forget(key controller.Key) { f.End(key) }

// Reported returns the parents whose wait was reported, sorted.
func (f *Waits) Reported() []controller.Key {
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
