package parent

import (
	"context"
	"errors"
	"sync"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// waits holds the parents whose hooks waited when they were called last. Kept in memory: the first pass over each parent after a restart
// learns it again.
type waits struct {
	mu       sync.Mutex
	byParent map[controller.Key][]variant.Wait
}

func newWaits() *waits { return &waits{byParent: map[controller.Key][]variant.Wait{}} }

// set replaces the waits of a parent.
func (w *waits) set(key controller.Key, all []variant.Wait) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.byParent, key)
	if len(all) > 0 {
		w.byParent[key] = all
	}
}

// inputsOf returns how many of the waits are about one input.
func inputsOf(all []variant.Wait) (count int) {
	for _, wait := range all {
		if wait.Input != "" {
			count++
		}
	}
	return count
}

// forget drops a parent.
func (w *waits) forget(key controller.Key) { w.set(key, nil) }

// retain drops the parents that keep returns false for.
func (w *waits) retain(keep func(controller.Key) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.byParent {
		if !keep(key) {
			delete(w.byParent, key)
		}
	}
}

// of returns the waits of a parent.
func (w *waits) of(key controller.Key) []variant.Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byParent[key]
}

// Waits returns what the hooks wait for that answered last about a parent.
func (r *Reconciler) Waits(key controller.Key) []variant.Wait { return r.waits.of(key) }

// noteWaits records what the hooks wait for, which is nothing if they have failed.
func (p *pass) noteWaits(all []variant.Wait) { p.waits.set(p.key, all) }

// noteNoAnswer records that the hooks wait for nothing that is known, as the pass failed before they answered. A parent fails or waits, and
// is not both. A failure that soon passes, or the end of the process, changes nothing.
func (p *pass) noteNoAnswer(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, controller.ErrLater) && !errors.Is(err, errGone) {
		p.noteWaits(nil)
	}
}
