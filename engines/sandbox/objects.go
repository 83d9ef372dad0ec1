package sandbox

import (
	"container/list"
	"reflect"

	"github.com/libretto-k8s/libretto/engines/sandbox/wire"
)

// maxObjects bounds the objects that a worker keeps, in bytes as they are sent. They
// take about memoryOfObject times that in the worker.
const (
	maxObjects     = 4 << 20
	memoryOfObject = 16
)

// objects is what a worker has of the objects in requests, so that they need not be
// sent again.
//
// An object is known by where its map is. As long as it is in this table it can't
// be freed, so that no other map can be there; and an object that has a UID and a
// resource version never changes (see engines.Call). What a message adds counts
// only once all of it has been sent.
type objects struct {
	byMap    map[uintptr]*list.Element
	byNumber map[uint64]*object
	order    *list.List // Of *object, the one used last in front.
	bytes    int
	last     uint64
	added    []*list.Element // By the message that is being written.
	drop     []uint64        // By the next message.
}

type object struct {
	id    uint64
	value map[string]any
	bytes int
}

func newObjects() objects {
	return objects{byMap: map[uintptr]*list.Element{}, byNumber: map[uint64]*object{}, order: list.New()}
}

// share says what to do about a map of a request.
func (o *objects) share(m map[string]any) wire.Shared {
	if !immutable(m) {
		return wire.Shared{}
	}
	at := reflect.ValueOf(m).Pointer()
	if e, ok := o.byMap[at]; ok {
		o.order.MoveToFront(e)
		return wire.Shared{ID: e.Value.(*object).id, Held: true}
	}
	o.last++
	added := &object{id: o.last, value: m}
	return wire.Shared{ID: added.id, Sent: func(bytes int) {
		added.bytes = bytes
		e := o.order.PushFront(added)
		o.byMap[at], o.byNumber[added.id] = e, added
		o.bytes += bytes
		o.added = append(o.added, e)
	}}
}

// immutable says whether a map is an object as the API server has it at one version.
func immutable(m map[string]any) bool {
	metadata, ok := m["metadata"].(map[string]any)
	if !ok {
		return false
	}
	uid, _ := metadata["uid"].(string)
	version, _ := metadata["resourceVersion"].(string)
	return uid != "" && version != ""
}

// held gives the object of a number that the worker answers with in place of the
// object, or nil, and its bytes. A worker that was taken over could name any object
// that it was sent: it has them.
func (o *objects) held(number uint64) (map[string]any, int) {
	known, ok := o.byNumber[number]
	if !ok {
		return nil, 0
	}
	return known.value, known.bytes
}

// sent is called when the worker has got the message.
func (o *objects) sent() { o.added, o.drop = nil, nil }

// trim has the next message drop what does not fit any more. It is not done before,
// because the answer to the last one could name it.
func (o *objects) trim() {
	for o.bytes > maxObjects {
		oldest := o.order.Back()
		o.drop = append(o.drop, oldest.Value.(*object).id)
		o.remove(oldest)
	}
}

// unsent is called when the worker will never get the message.
func (o *objects) unsent() {
	for _, e := range o.added {
		o.remove(e)
	}
	o.added = nil
}

func (o *objects) remove(e *list.Element) {
	gone := o.order.Remove(e).(*object)
	delete(o.byMap, reflect.ValueOf(gone.value).Pointer())
	delete(o.byNumber, gone.id)
	o.bytes -= gone.bytes
}

// memory is what the objects take in the worker, roughly, in bytes.
func (o *objects) memory() int64 { return int64(o.bytes) * memoryOfObject }
