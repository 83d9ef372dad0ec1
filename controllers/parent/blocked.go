package parent

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// blocked holds the objects that stand in the way of a creation, so that whoever
// waits is told when they change or go.
type blocked struct {
	mu      sync.Mutex
	parents map[apply.Key]controller.Key
}

func newBlocked() *blocked { return &blocked{parents: map[apply.Key]controller.Key{}} }

// add notes that parent waits for the object of that key.
func (b *blocked) add(object apply.Key, parent controller.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parents[object] = parent
}

// take gives the parent that waits for an object, once.
func (b *blocked) take(object apply.Key) (controller.Key, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	parent, waits := b.parents[object]
	delete(b.parents, object)
	return parent, waits
}
