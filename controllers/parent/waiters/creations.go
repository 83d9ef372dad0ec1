package waiters

import (
	"sync"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Creations holds the parents that wait for an existing object to change or go,
// because it blocks the creation of a child.
type Creations struct {
	mu      sync.Mutex
	parents Sets[apply.Key]
}

// NewCreations returns an empty record.
func NewCreations() *Creations { return &Creations{parents: Sets[apply.Key]{}} }

// Add notes that parent waits for the object of that key.
func (c *Creations) Add(object apply.Key, parent controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parents.Add(object, parent)
}

// Take removes and returns the parents that wait for an object.
func (c *Creations) Take(object apply.Key) map[controller.Key]bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.parents.Take(object)
}
