package statuses

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Deferred has the statuses that passes leave for the next pass over the same parent to write. That pass is certain to come, as
// children were written. Kept in memory: a new process makes a pass over each parent, and so writes its status.
type Deferred struct {
	mu       sync.Mutex
	byParent map[controller.Key]Status
}

// Status is the status that the last pass wanted. It is written only if the next one fails before it has another.
type Status struct {
	UID   types.UID
	Since time.Time // when the status was first deferred
	// Status and Origin are those of variant.Desired, and Base is the observed status if Status is made from it.
	Status, Base map[string]any
	Origin       variant.StatusOrigin
}

// NewDeferred returns an empty record.
func NewDeferred() *Deferred { return &Deferred{byParent: map[controller.Key]Status{}} }

// Defer records a status. It returns since when the parent's status is deferred: now, unless an earlier pass deferred it.
func (l *Deferred) Defer(key controller.Key, status Status) (since time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if before, ok := l.byParent[key]; ok && before.UID == status.UID {
		status.Since = before.Since
	}
	l.byParent[key] = status
	return status.Since
}

// Of returns the deferred status of a parent, and whether there is one.
func (l *Deferred) Of(key controller.Key, uid types.UID) (Status, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	status, ok := l.byParent[key]
	return status, ok && status.UID == uid
}

// Forget drops what is recorded of a parent.
func (l *Deferred) Forget(key controller.Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.byParent, key)
}
