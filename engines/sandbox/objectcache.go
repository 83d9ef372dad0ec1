package sandbox

import (
	"container/list"
	"reflect"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// maxObjectBytes bounds the objects that a worker keeps, in encoded bytes. In the worker they take about
// memoryPerByte times that.
const (
	maxObjectBytes = 4 << 20
	memoryPerByte  = 16
)

// objectCache tracks which objects a worker has, so that they are not sent again.
//
// An object is identified by the address of its map. While the object is in this table it can't be
// freed, so no other map can have the address. An object with a UID and a resource version never changes
// (see engines.Call). Objects of a message are added when the whole message has been sent.
type objectCache struct {
	byAddress map[uintptr]*list.Element
	byID      map[uint64]*cachedObject
	lru       *list.List // Of *cachedObject. The one used last is in front.
	bytes     int
	lastID    uint64
	pending   []*list.Element // Added by the message that is being encoded.
	evicted   []uint64        // To be dropped by the next message.
}

type cachedObject struct {
	id    uint64
	value map[string]any
	bytes int
}

func newObjectCache() objectCache {
	return objectCache{byAddress: map[uintptr]*list.Element{}, byID: map[uint64]*cachedObject{}, lru: list.New()}
}

// share returns how to send a map of a request.
func (o *objectCache) share(m map[string]any) wire.Shared {
	if !isImmutable(m) {
		return wire.Shared{}
	}
	at := reflect.ValueOf(m).Pointer()
	if e, ok := o.byAddress[at]; ok {
		o.lru.MoveToFront(e)
		return wire.Shared{ID: e.Value.(*cachedObject).id, Known: true}
	}
	o.lastID++
	added := &cachedObject{id: o.lastID, value: m}
	return wire.Shared{ID: added.id, OnSent: func(bytes int) {
		added.bytes = bytes
		e := o.lru.PushFront(added)
		o.byAddress[at], o.byID[added.id] = e, added
		o.bytes += bytes
		o.pending = append(o.pending, e)
	}}
}

// isImmutable reports whether a map is an object as the API server has it at one version.
func isImmutable(m map[string]any) bool {
	metadata, ok := m["metadata"].(map[string]any)
	if !ok {
		return false
	}
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	return uid != "" && version != ""
}

// get returns the object with an ID that the worker answered with, and its encoded bytes, or nil. A
// compromised worker could name any object that it was sent, which it has anyway.
func (o *objectCache) get(number uint64) (map[string]any, int) {
	known, ok := o.byID[number]
	if !ok {
		return nil, 0
	}
	return known.value, known.bytes
}

// commit is called when the message has been sent.
func (o *objectCache) commit() { o.pending, o.evicted = nil, nil }

// evict lists the objects that the next message must drop to keep within the limit. It is not called
// earlier because the answer to the last message may name them.
func (o *objectCache) evict() {
	for o.bytes > maxObjectBytes {
		oldest := o.lru.Back()
		o.evicted = append(o.evicted, oldest.Value.(*cachedObject).id)
		o.remove(oldest)
	}
}

// rollback is called when the message will never be sent.
func (o *objectCache) rollback() {
	for _, e := range o.pending {
		o.remove(e)
	}
	o.pending = nil
}

func (o *objectCache) remove(e *list.Element) {
	gone := o.lru.Remove(e).(*cachedObject)
	delete(o.byAddress, reflect.ValueOf(gone.value).Pointer())
	delete(o.byID, gone.id)
	o.bytes -= gone.bytes
}

// memoryBytes returns about how much memory the objects take in the worker.
func (o *objectCache) memoryBytes() int64 { return int64(o.bytes) * memoryPerByte }
