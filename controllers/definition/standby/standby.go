// Package standby fills the caches that definitions need, and compiles their scripts, while a host waits to lead, so that it can work at
// once when it does. It reads, and writes nothing.
package standby

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Caches are the caches and the scripts that are open for definitions which do not run yet. The zero value has none. Its methods are
// called by several goroutines.
type Caches struct {
	mu           sync.Mutex
	byDefinition map[controller.Key]opened
}

// opened are the caches and the hooks of one definition, in one generation.
type opened struct {
	uid        types.UID
	generation int64
	handles    []*informer.Handle
	hooks      *hooks.Hooks // Nil if they can't be opened.
}

// Open opens the caches of a definition in a pool, and its hooks, unless they are open. They are the same ones that an instance of the plan
// opens later: caches are shared, and so are programs of equal scripts.
func (c *Caches) Open(p *plan.Plan, pool *informer.Pool, config hooks.Config) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.byDefinition[p.Key()]
	if before.uid == p.UID && before.generation == p.Generation {
		return
	}
	next := opened{uid: p.UID, generation: p.Generation}
	for _, resource := range p.Resources() {
		next.handles = append(next.handles, pool.Open(resource.GroupVersionResource))
	}
	// Why they can't be opened is for the host that leads to say.
	next.hooks, _ = config.Open(p, hooks.Options{Follows: true, Changed: func() {}})
	if c.byDefinition == nil {
		c.byDefinition = map[controller.Key]opened{}
	}
	c.byDefinition[p.Key()] = next
	before.close()
}

// Close closes the caches of a definition: another has opened them, or it is gone.
func (c *Caches) Close(key controller.Key) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byDefinition[key].close()
	delete(c.byDefinition, key)
}

// CloseAll closes the caches of all definitions.
func (c *Caches) CloseAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, caches := range c.byDefinition {
		caches.close()
	}
	c.byDefinition = nil
}

func (o opened) close() {
	for _, handle := range o.handles {
		handle.Close()
	}
	if o.hooks != nil {
		o.hooks.Close()
	}
}
