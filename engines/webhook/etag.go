package webhook

import (
	"container/list"
	"sync"
	"time"

	"github.com/libretto-k8s/libretto/engines"
)

// etagCache holds the answers of one endpoint that have an ETag: the last one for each
// key, up to a number of bytes. The least recently used are evicted.
type etagCache struct {
	settings engines.Etag
	size     int // in bytes, at most

	mu      sync.Mutex
	room    int // of size, what is left
	byCall  map[etagKey]*list.Element
	order   *list.List // of *remembered, the last used first
	cleaned time.Time
}

// etagKey identifies a call: the UID of the object, and what distinguishes the calls about
// it. Whether the request has changed is checked by the server.
type etagKey struct{ seed, subject string }

// etagEntry is an answer. It never changes once made.
type etagEntry struct {
	key  etagKey
	etag string
	text []byte
	used time.Time
}

func newEtagCache(settings engines.Etag, size int) *etagCache {
	return &etagCache{settings: settings, size: size, room: size, byCall: map[etagKey]*list.Element{}, order: list.New()}
}

// get returns the answer that may still be valid, or nil.
func (a *etagCache) get(call engines.Call) *etagEntry {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.clean(call.Now)
	element := a.byCall[etagKey{call.Seed, call.Subject}]
	if element == nil {
		return nil
	}
	known := element.Value.(*etagEntry)
	if a.expired(known, call.Now) {
		a.remove(element)
		return nil
	}
	fresh := *known
	fresh.used = call.Now
	element.Value = &fresh
	a.order.MoveToFront(element)
	return &fresh
}

// put adds an answer. One without an ETag changes nothing: the answer before it remains
// valid for its own ETag.
func (a *etagCache) put(call engines.Call, etag string, text []byte) {
	if etag == "" || cap(text) > a.size {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	asked := etagKey{call.Seed, call.Subject}
	if element := a.byCall[asked]; element != nil {
		a.remove(element)
	}
	next := &etagEntry{key: asked, etag: etag, text: text, used: call.Now}
	a.byCall[asked] = a.order.PushFront(next)
	a.room -= cap(text)
	for a.room < 0 {
		a.remove(a.order.Back())
	}
}

// clean removes what has expired, as often as the settings say.
func (a *etagCache) clean(now time.Time) {
	if a.settings.Cleanup <= 0 || now.Sub(a.cleaned) < a.settings.Cleanup {
		return
	}
	a.cleaned = now
	for element := a.order.Back(); element != nil && a.expired(element.Value.(*etagEntry), now); element = a.order.Back() {
		a.remove(element)
	}
}

func (a *etagCache) expired(r *etagEntry, now time.Time) bool {
	return a.settings.Expiry > 0 && now.Sub(r.used) >= a.settings.Expiry
}

func (a *etagCache) remove(element *list.Element) {
	known := a.order.Remove(element).(*etagEntry)
	delete(a.byCall, known.key)
	a.room += cap(known.text)
}
