package informer

import (
	"strconv"
	"sync/atomic"

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
	s := p.shared[resource]
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
