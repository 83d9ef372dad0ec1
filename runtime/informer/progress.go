package informer

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// handler is an event handler and its progress.
type handler struct {
	f            func(Event)
	registration cache.ResourceEventHandlerRegistration
	version      atomic.Int64 // The newest version handled, not counting replayed objects.
}

// handle calls f, unless a relist brought the same object again.
func (h *handler) handle(e Event) {
	if e.Old == nil || e.New == nil || e.Old.GetResourceVersion() != e.New.GetResourceVersion() {
		h.f(e)
	}
	if !e.Replay {
		h.version.Store(max(h.version.Load(), parseVersion(e.Object().GetResourceVersion())))
	}
}

// Handled reports whether the cache of a resource and all its event handlers have processed the change with
// that version. It is true for a resource that is not watched.
func (p *Pool) Handled(resource schema.GroupVersionResource, version int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.shared[p.scopeOf(resource)]
	if s == nil {
		return true
	}
	if !s.informer.HasSynced() || s.version() < version {
		return false
	}
	for handle := range s.handles {
		if !handle.handled(version) {
			return false
		}
	}
	return true
}

const (
	// maxYields is how often WaitForHandled yields the processor before it leaves it for longer: on a busy machine those who are waited
	// for get it later.
	maxYields = 10
	yieldTime = 20 * time.Microsecond
)

// WaitForHandled waits until the changes with these versions, by resource, are Handled. The error is that ctx ended before. It polls, and
// is for a cluster in this process, whose events are on their way through goroutines of this process.
func (p *Pool) WaitForHandled(ctx context.Context, versions map[schema.GroupVersionResource]int64) error {
	tries := 0
	for resource, version := range versions {
		for !p.Handled(resource, version) {
			if ctx.Err() != nil {
				return fmt.Errorf("the cache of %s has not processed version %d: %w", resource.Resource, version, context.Cause(ctx))
			}
			if tries++; tries < maxYields {
				runtime.Gosched()
			} else {
				time.Sleep(yieldTime)
			}
		}
	}
	return nil
}

func (h *Handle) handled(version int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, handler := range h.handlers {
		if !handler.registration.HasSynced() || handler.version.Load() < version {
			return false
		}
	}
	return true
}

// version returns the version of the newest change in the cache.
func (s *sharedInformer) version() int64 {
	return parseVersion(s.informer.GetIndexer().LastStoreSyncResourceVersion())
}

// parseVersion returns 0 for no version.
func parseVersion(resourceVersion string) int64 {
	version, _ := strconv.ParseInt(resourceVersion, 10, 64)
	return version
}
