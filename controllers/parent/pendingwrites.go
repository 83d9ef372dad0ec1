package parent

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// aheadFor is how long a write counts that no watch event confirms: an object
// that comes and goes while a watch is down is never seen.
const pendingWriteTTL = time.Minute

// expireEvery is how often what no event confirms is looked through, if there is any.
const expireEvery = pendingWriteTTL / 4

// ahead holds what this process has written and the caches don't show yet, so
// that a pass never sees a state older than its own writes and never writes
// anything twice.
type pendingWrites struct {
	clock clock.Clock
	// unconfirmed is called for a created object that no event has shown in time.
	unconfirmed func(created *unstructured.Unstructured)
	done        chan struct{}
	close       func() // ends the wait for what has yet to expire
	mu          sync.Mutex
	writes      map[apply.Key]pendingWrite
	created     map[types.UID]map[apply.Key]bool  // by owner
	deletedUIDs *generations[types.UID, struct{}] // objects whose end was seen lately
	waiting     bool                              // for the next expire
}

// written is one object as it is after a write.
type pendingWrite struct {
	object *unstructured.Unstructured
	// deleted says that the object is as it was observed, but for being deleted.
	deleted bool
	// fields are what is kept of the object's managedFields.
	fields []any
	owner  types.UID
	at     time.Time
}

func newPendingWrites(clock clock.Clock) *pendingWrites {
	done := make(chan struct{})
	return &pendingWrites{
		clock: clock, unconfirmed: func(*unstructured.Unstructured) {}, done: done, close: sync.OnceFunc(func() { close(done) }),
		writes: map[apply.Key]pendingWrite{}, created: map[types.UID]map[apply.Key]bool{},
		deletedUIDs: newGenerations[types.UID, struct{}](pendingWriteTTL, clock.Now()),
	}
}

// wrote notes an object as a write on behalf of owner has left it. created says
// that it was not there before.
func (a *pendingWrites) noteWritten(owner types.UID, object *unstructured.Unstructured, created bool) {
	a.note(pendingWrite{object: object, owner: owner}, created)
}

// deleted notes that observed was deleted, which may take a while to be done.
func (a *pendingWrites) noteDeleted(owner types.UID, observed *unstructured.Unstructured) {
	terminating := variant.WithMetadata(observed)
	now := metav1.NewTime(a.clock.Now())
	terminating.SetDeletionTimestamp(&now)
	a.note(pendingWrite{object: terminating, deleted: true, owner: owner}, false)
}

func (a *pendingWrites) note(w pendingWrite, created bool) {
	key := apply.KeyOf(w.object)
	w.at = a.clock.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, over := a.deletedUIDs.get(w.object.GetUID()); over {
		return // It came and went before the answer to the write was read.
	}
	created = created || a.created[w.owner][key]
	a.drop(key)
	a.writes[key] = w
	a.expireLater()
	if !created {
		return
	}
	if a.created[w.owner] == nil {
		a.created[w.owner] = map[apply.Key]bool{}
	}
	a.created[w.owner][key] = true
}

// keep notes what is kept of the managedFields of an object that was just written.
func (a *pendingWrites) setFields(object *unstructured.Unstructured, fields []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w, ok := a.writes[apply.KeyOf(object)]; ok && w.object == object {
		w.fields = fields
		a.writes[apply.KeyOf(object)] = w
	}
}

// fields gives what is kept of the managedFields of an object that newest gave, or nil
// if there is none or only a cache knows.
func (a *pendingWrites) fields(object *unstructured.Unstructured) []any {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.writes) == 0 {
		return nil
	}
	if w := a.writes[apply.KeyOf(object)]; w.object == object {
		return w.fields
	}
	return nil
}

// newest gives the newest known state of an object that a cache holds.
func (a *pendingWrites) newest(cached *unstructured.Unstructured) *unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.writes) == 0 {
		return cached
	}
	w, ok := a.writes[apply.KeyOf(cached)]
	if !ok || a.expired(w) || w.object.GetUID() != cached.GetUID() || newer(cached, w.object) {
		return cached
	}
	return w.object
}

// createdBy gives what was created on behalf of owner and no event has confirmed yet.
func (a *pendingWrites) createdBy(owner types.UID) []*unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	var objects []*unstructured.Unstructured
	for key := range a.created[owner] {
		if w := a.writes[key]; a.expired(w) {
			a.drop(key)
		} else {
			objects = append(objects, w.object)
		}
	}
	return objects
}

// seen takes note of a watch event: a write that it shows, or that something
// newer has replaced, is no longer ahead.
func (a *pendingWrites) observe(event informer.Event) {
	object := event.Object()
	key := apply.KeyOf(object)
	a.mu.Lock()
	defer a.mu.Unlock()
	if event.New == nil {
		a.deletedUIDs.rotate(a.clock.Now())
		a.deletedUIDs.put(object.GetUID(), struct{}{})
		a.expireLater()
	}
	w, ok := a.writes[key]
	switch {
	case !ok || w.object.GetUID() != object.GetUID():
	case event.New == nil, newer(object, w.object), !w.deleted && !newer(w.object, object):
		a.drop(key)
	}
}

// newer says whether a is a later version of the same object than b. Where an
// API server's versions can't be compared, any other version counts as later.
func newer(a, b *unstructured.Unstructured) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	if err != nil {
		return a.GetResourceVersion() != b.GetResourceVersion()
	}
	return order > 0
}

func (a *pendingWrites) expired(w pendingWrite) bool { return a.clock.Since(w.at) > pendingWriteTTL }

// expireLater has expire called in a while, unless it will be anyway.
func (a *pendingWrites) expireLater() {
	if a.waiting {
		return
	}
	a.waiting = true
	timer := a.clock.NewTimer(expireEvery)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			a.expire()
		case <-a.done:
		}
	}()
}

// expire drops what has expired, and reports the creations among it.
func (a *pendingWrites) expire() {
	for _, created := range a.dropExpired() {
		a.unconfirmed(created)
	}
}

func (a *pendingWrites) dropExpired() (created []*unstructured.Unstructured) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.deletedUIDs.rotate(a.clock.Now())
	for key, w := range a.writes {
		if !a.expired(w) {
			continue
		}
		if a.created[w.owner][key] {
			created = append(created, w.object)
		}
		a.drop(key)
	}
	a.waiting = false
	if len(a.writes) > 0 || a.deletedUIDs.len() > 0 {
		a.expireLater()
	}
	return created
}

func (a *pendingWrites) drop(key apply.Key) {
	owner := a.writes[key].owner
	delete(a.writes, key)
	delete(a.created[owner], key)
	if len(a.created[owner]) == 0 {
		delete(a.created, owner)
	}
}
