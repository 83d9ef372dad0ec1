package webhook

import (
	"sync/atomic"
	"time"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
)

// etagCache holds the answers of one endpoint that have an ETag: the last one for each
// key. They share a budget of bytes with all other answers that the process keeps.
type etagCache struct {
	settings engines.Etag
	answers  *lru.Cache
	cleaned  atomic.Int64 // when clean last removed entries, in nanoseconds
}

// etagKey identifies a call: the UID of the object, and what distinguishes the calls about
// it. Whether the request has changed is checked by the server.
type etagKey struct{ seed, subject string }

// etagEntry is an answer.
type etagEntry struct {
	etag string
	text []byte
	used atomic.Int64 // in nanoseconds
}

// etagOverhead is about how many bytes of memory an entry takes beside its text.
const etagOverhead = 512

func newEtagCache(settings engines.Etag, answers *lru.Cache) *etagCache {
	return &etagCache{settings: settings, answers: answers}
}

func (a *etagCache) key(call engines.Call) lru.Key {
	return lru.Key{Owner: call.Owner, Group: a, ID: etagKey{call.Seed, call.Subject}}
}

// get returns the answer that may still be valid, or nil.
func (a *etagCache) get(call engines.Call) *etagEntry {
	a.clean(call)
	value, ok := a.answers.Get(a.key(call))
	if !ok {
		return nil
	}
	known := value.(*etagEntry)
	if a.expired(known, call.Now) {
		return nil // An answer with an ETag will take its place.
	}
	known.used.Store(call.Now.UnixNano())
	return known
}

// put adds an answer. One without an ETag changes nothing: the answer before it remains
// valid for its own ETag.
func (a *etagCache) put(call engines.Call, etag string, text []byte) {
	if etag == "" {
		return
	}
	next := &etagEntry{etag: etag, text: text}
	next.used.Store(call.Now.UnixNano())
	a.answers.Put(a.key(call), next, int64(cap(text)+etagOverhead))
}

// clean removes what has expired of the definition's answers, as often as the settings say.
func (a *etagCache) clean(call engines.Call) {
	last, now := a.cleaned.Load(), call.Now.UnixNano()
	if a.settings.Cleanup <= 0 || time.Duration(now-last) < a.settings.Cleanup || !a.cleaned.CompareAndSwap(last, now) {
		return
	}
	a.answers.DeleteFunc(call.Owner, a, func(_, value any) bool { return a.expired(value.(*etagEntry), call.Now) })
}

func (a *etagCache) expired(r *etagEntry, now time.Time) bool {
	return a.settings.Expiry > 0 && now.UnixNano()-r.used.Load() >= int64(a.settings.Expiry)
}
