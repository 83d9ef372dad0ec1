package samples

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/informer"
)

const (
	// maxPreviewSync is how long a preview waits for a cache that is filled for it.
	maxPreviewSync = 10 * time.Second
	// keepPreviewCaches is for how long a cache that was filled for a preview stays open after it was used last. An edit that takes over
	// finds it there.
	keepPreviewCaches = time.Minute
)

// ErrNotCached is why Related returns nothing: the objects can't be had, or not yet.
var ErrNotCached = errors.New("it is in no cache")

// Caches are the caches that were filled for previews, as no other part of the process has them.
type Caches struct {
	pool  *informer.Pool
	clock clock.PassiveClock

	mu     sync.Mutex
	byKind map[schema.GroupVersionResource]*previewCache
}

type previewCache struct {
	*informer.Handle
	usedAt time.Time
	// failed is why it can't be filled, or nil: a preview of many parents waits once.
	failed error
}

// NewCaches returns no caches yet.
func NewCaches(pool *informer.Pool, clock clock.PassiveClock) *Caches {
	return &Caches{pool: pool, clock: clock, byKind: map[schema.GroupVersionResource]*previewCache{}}
}

// share returns a handle on the cache of a resource, which has synced. It fills one if there is none. The handle must be closed.
func (c *Caches) share(ctx context.Context, resource schema.GroupVersionResource) (*informer.Handle, error) {
	if shared := c.pool.Share(resource); shared != nil {
		return shared, nil
	}
	c.mu.Lock()
	known := c.byKind[resource]
	if known == nil {
		known = &previewCache{Handle: c.pool.Open(resource)}
		c.byKind[resource] = known
	}
	known.usedAt = c.clock.Now()
	failed := known.failed
	c.mu.Unlock()
	if failed == nil {
		failed = known.wait(ctx)
	}
	if shared := c.pool.Share(resource); shared != nil {
		return shared, nil
	}
	c.mu.Lock()
	known.failed = failed
	c.mu.Unlock()
	return nil, fmt.Errorf("%w: related %s can't be read: %w", ErrNotCached, resource.GroupResource(), failed)
}

// wait waits until the cache has synced, and returns why it has not.
func (c *previewCache) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, maxPreviewSync)
	defer cancel()
	for ctx.Err() == nil {
		if err := c.Err(); err != nil {
			return err
		}
		moment, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		synced := c.WaitForSync(moment)
		if cancel(); synced {
			return nil
		}
	}
	return fmt.Errorf("they are still being listed after %s", maxPreviewSync)
}

// Expire closes the caches that have not been used for a while.
func (c *Caches) Expire() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for resource, known := range c.byKind {
		if c.clock.Since(known.usedAt) > keepPreviewCaches {
			delete(c.byKind, resource)
			go known.Close() // It waits for the informer.
		}
	}
}

// Close closes all caches.
func (c *Caches) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.byKind {
		known.Close()
	}
	clear(c.byKind)
}
