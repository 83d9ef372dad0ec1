package memcluster

import "k8s.io/apimachinery/pkg/runtime/schema"

// PauseWatch keeps the changes of a resource from watchers until ResumeWatches is called, like a watch that lags behind. Reads show them.
func (c *Cluster) PauseWatch(resource schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.tables[resource]; t != nil && !t.held {
		t.held, t.heldFrom = true, c.version
	}
}

// ResumeWatches sends the changes that PauseWatch kept back.
func (c *Cluster) ResumeWatches() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.tables {
		if t.held {
			t.held = false
			for w := range t.watchers {
				w.notify()
			}
		}
	}
}

// isHeld reports whether a change is not sent yet. The lock is held.
func (t *table) isHeld(change change) bool { return t.held && change.version > t.heldFrom }
