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

// pendingWriteTTL is how long a write is kept without a watch event that shows it. An object
// that comes and goes while a watch is down is never seen.
const pendingWriteTTL = time.Minute

// expireEvery is the interval of the search for expired writes. It runs only while there are
// any.
const expireEvery = pendingWriteTTL / 4

// pendingWrites holds what this process has written and the caches do not show yet, so that a
// pass never reads a state older than its own writes and never repeats a write.
type pendingWrites struct {
	clock clock.Clock
	// unconfirmed is called for a created object that no event has shown in time.
	unconfirmed func(created *unstructured.Unstructured)
	done        chan struct{}
	close       func() // stops the expiry
	mu          sync.Mutex
	writes      map[apply.Key]pendingWrite
	created     map[types.UID]map[apply.Key]bool  // by owner
	deletedUIDs *generations[types.UID, struct{}] // whose deletion was seen lately
	scheduled   bool                              // expire will be called
}

// pendingWrite is an object after a write.
type pendingWrite struct {
	object *unstructured.Unstructured
	// deleted is set for an observed object with a deletion timestamp added.
	deleted bool
	// fields are the kept entries of the object's managedFields.
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

// noteWritten records an object that was written for owner. created reports whether it is new.
func (a *pendingWrites) noteWritten(owner types.UID, object *unstructured.Unstructured, created bool) {
	a.note(pendingWrite{object: object, owner: owner}, created)
}

// noteDeleted records that observed was deleted, which may take a while.
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
		return // It was deleted before the response to the write was read.
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

// setFields records the managedFields of an object that was just written.
func (a *pendingWrites) setFields(object *unstructured.Unstructured, fields []any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if w, ok := a.writes[apply.KeyOf(object)]; ok && w.object == object {
		w.fields = fields
		a.writes[apply.KeyOf(object)] = w
	}
}

// fields returns the recorded managedFields of an object that newest returned, or nil if there
// are none or only a cache has them.
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

// newest returns the newest known state of a cached object.
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

// createdBy returns the objects that were created for owner and that no event has shown yet.
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

// observe drops the writes that a watch event shows or supersedes.
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

// newer reports whether a is a later version of the same object than b. If the versions cannot
// be compared, any other version counts as later.
func newer(a, b *unstructured.Unstructured) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	if err != nil {
		return a.GetResourceVersion() != b.GetResourceVersion()
	}
	return order > 0
}

func (a *pendingWrites) expired(w pendingWrite) bool { return a.clock.Since(w.at) > pendingWriteTTL }

// expireLater schedules expire unless it is scheduled.
func (a *pendingWrites) expireLater() {
	if a.scheduled {
		return
	}
	a.scheduled = true
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

// expire drops expired writes and reports the creations among them.
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
	a.scheduled = false
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
