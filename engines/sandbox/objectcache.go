package sandbox

import (
	"container/list"
	"reflect"
	"slices"

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
	byUID     map[string]*list.Element // The one added last.
	lru       *list.List               // Of *cachedObject. The one used last is in front.
	bytes     int
	lastID    uint64
	pending   []*list.Element // Added by the message that is being encoded.
	// superseded are earlier versions of objects that were sent, which nothing else may need: they are evicted first.
	superseded []*list.Element
	evicted    []uint64 // To be dropped by the next message.
}

type cachedObject struct {
	id    uint64
	value map[string]any
	bytes int
}

func newObjectCache() objectCache {
	return objectCache{
		byAddress: map[uintptr]*list.Element{}, byID: map[uint64]*cachedObject{}, byUID: map[string]*list.Element{}, lru: list.New(),
	}
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
		uid, version := versionOf(m)
		if last := o.byUID[uid]; last != nil {
			if _, earlier := versionOf(last.Value.(*cachedObject).value); earlier != version {
				o.superseded = append(o.superseded, last)
			}
		}
		o.byUID[uid] = e
	}}
}

// isImmutable reports whether a map is an object as the API server has it at one version.
func isImmutable(m map[string]any) bool {
	uid, version := versionOf(m)
	return uid != "" && version != ""
}

// versionOf returns which object a map is, and in which version.
func versionOf(m map[string]any) (uid, version string) {
	metadata, _ := m["metadata"].(map[string]any)
	uid, _ = metadata["uid"].(string)
	version, _ = metadata["resourceVersion"].(string)
	return uid, version
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

// evict lists the objects that the next message must drop: those of which a later version was sent, and what exceeds the limit. It is
// not called earlier because the answer to the last message may name them.
func (o *objectCache) evict() {
	for _, e := range o.superseded {
		if o.byID[e.Value.(*cachedObject).id] != nil {
			o.drop(e)
		}
	}
	o.superseded = nil
	for o.bytes > maxObjectBytes {
		o.drop(o.lru.Back())
	}
}

func (o *objectCache) drop(e *list.Element) {
	o.evicted = append(o.evicted, e.Value.(*cachedObject).id)
	o.remove(e)
}

// rollback is called when the message will never be sent.
func (o *objectCache) rollback() {
	for _, e := range o.pending {
		o.remove(e)
	}
	for _, e := range slices.Backward(o.superseded) { // The first of each object is the last one again.
		uid, _ := versionOf(e.Value.(*cachedObject).value)
		o.byUID[uid] = e
	}
	o.pending, o.superseded = nil, nil
}

func (o *objectCache) remove(e *list.Element) {
	gone := o.lru.Remove(e).(*cachedObject)
	delete(o.byAddress, reflect.ValueOf(gone.value).Pointer())
	delete(o.byID, gone.id)
	if uid, _ := versionOf(gone.value); o.byUID[uid] == e {
		delete(o.byUID, uid)
	}
	o.bytes -= gone.bytes
}

// memoryBytes returns about how much memory the objects take in the worker.
func (o *objectCache) memoryBytes() int64 { return int64(o.bytes) * memoryPerByte }
