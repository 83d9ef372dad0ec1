package health

import (
	"sync"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Waits holds the parents whose hooks waited when they were called last. Kept in memory: the first pass over each parent after a restart
// learns it again.
type Waits struct {
	mu       sync.Mutex
	byParent map[controller.Key][]variant.Wait
}

// NewWaits returns an empty record.
func NewWaits() *Waits { return &Waits{byParent: map[controller.Key][]variant.Wait{}} }

// Set replaces the waits of a parent.
func (w *Waits) Set(key controller.Key, all []variant.Wait) {
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

// Forget drops a parent.
func (w *Waits) Forget(key controller.Key) { w.Set(key, nil) }

// Retain drops the parents that keep returns false for.
func (w *Waits) Retain(keep func(controller.Key) bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for key := range w.byParent {
		if !keep(key) {
			delete(w.byParent, key)
		}
	}
}

// Of returns the waits of a parent.
func (w *Waits) Of(key controller.Key) []variant.Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byParent[key]
}
