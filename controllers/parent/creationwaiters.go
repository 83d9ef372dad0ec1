package parent

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// blocked holds the objects that stand in the way of a creation, so that whoever
// waits is told when they change or go.
type creationWaiters struct {
	mu      sync.Mutex
	parents map[apply.Key]map[controller.Key]bool
}

func newCreationWaiters() *creationWaiters {
	return &creationWaiters{parents: map[apply.Key]map[controller.Key]bool{}}
}

// add notes that parent waits for the object of that key.
func (b *creationWaiters) add(object apply.Key, parent controller.Key) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.parents[object] == nil {
		b.parents[object] = map[controller.Key]bool{}
	}
	b.parents[object][parent] = true
}

// take gives the parents that wait for an object, once.
func (b *creationWaiters) take(object apply.Key) map[controller.Key]bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	waiting := b.parents[object]
	delete(b.parents, object)
	return waiting
}
