package parent

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// creationWaiters holds the parents that wait for an existing object to change or go,
// because it blocks the creation of a child.
type creationWaiters struct {
	mu      sync.Mutex
	parents parentSets[apply.Key]
}

func newCreationWaiters() *creationWaiters { return &creationWaiters{parents: parentSets[apply.Key]{}} }

// add notes that parent waits for the object of that key.
func (c *creationWaiters) add(object apply.Key, parent controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parents.add(object, parent)
}

// take removes and returns the parents that wait for an object.
func (c *creationWaiters) take(object apply.Key) map[controller.Key]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parents.take(object)
}
