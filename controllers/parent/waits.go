package parent

import (
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// waits holds the parents whose hooks answered last that they wait. Kept in memory: the first pass over each parent after a restart
// learns it again.
type waits struct {
	mu       sync.Mutex
	byParent map[controller.Key]parentWaits
	inputs   int
}

// parentWaits are the waits of one parent.
type parentWaits struct {
	uid types.UID
	all []variant.Wait
}

func newWaits() *waits { return &waits{byParent: map[controller.Key]parentWaits{}} }

// set replaces the waits of a parent. It returns the first wait for each reason that the parent did not wait for before, and reports
// whether the counts have changed.
func (w *waits) set(key controller.Key, uid types.UID, all []variant.Wait) (begun []variant.Wait, changed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	before := w.byParent[key]
	parents, inputs := len(w.byParent), w.inputs
	w.drop(key)
	if len(all) > 0 {
		w.byParent[key] = parentWaits{uid, all}
		w.inputs += inputsOf(all)
	}
	known := map[string]bool{}
	for _, wait := range before.all {
		known[wait.Reason] = before.uid == uid
	}
	for _, wait := range all {
		if !known[wait.Reason] {
			known[wait.Reason] = true
			begun = append(begun, wait)
		}
	}
	return begun, parents != len(w.byParent) || inputs != w.inputs
}

// drop removes a parent. The caller holds the lock.
func (w *waits) drop(key controller.Key) {
	w.inputs -= inputsOf(w.byParent[key].all)
	delete(w.byParent, key)
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

// forget drops a parent, and reports whether it waited.
func (w *waits) forget(key controller.Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	waited := len(w.byParent[key].all) > 0
	w.drop(key)
	return waited
}

// of returns the waits of a parent.
func (w *waits) of(key controller.Key) []variant.Wait {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.byParent[key].all
}

// counts returns how many parents wait, and how many inputs of maps.
func (w *waits) counts() (parents, inputs int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.byParent), w.inputs
}

// Waits returns what the hooks wait for that answered last about a parent.
func (r *Reconciler) Waits(key controller.Key) []variant.Wait { return r.waits.of(key) }

// Waiting returns how many parents have a hook that waits, and how many inputs of maps. It takes the same time for any number.
func (r *Reconciler) Waiting() (parents, inputs int) { return r.waits.counts() }

// reportWaits records what the hooks wait for, and emits an event for each new reason.
func (p *pass) reportWaits(all []variant.Wait) {
	begun, changed := p.waits.set(p.key, p.parent.GetUID(), all)
	for _, wait := range begun {
		p.env.Events.Event(p.parent, corev1.EventTypeNormal, variant.ReasonWaiting, describeWait(wait, all))
	}
	if changed {
		p.config.Changed()
	}
}

// describeWait returns the message of the event about a wait for a new reason.
func describeWait(wait variant.Wait, all []variant.Wait) string {
	if wait.Input == "" {
		return wait.String() + ": until then the children stay as they are"
	}
	others := -1
	for _, other := range all {
		if other.Reason == wait.Reason {
			others++
		}
	}
	more := ""
	if others > 0 {
		more = fmt.Sprintf(" (and %d more inputs)", others)
	}
	return wait.String() + more + ": until then the outputs stay as they are"
}
