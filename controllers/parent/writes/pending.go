// Package writes has what this process has written of children: writes that no event has shown yet,
// those that were answered by metadata alone, and what earlier writes of a child have shown.
package writes

import (
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/controllers/parent/expiring"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// pendingWriteTTL is how long a write is kept without a watch event that shows it.
const pendingWriteTTL = time.Minute

// expireEvery is the interval of the search for expired writes, and for those of objects that have gone without an event. It runs only
// while there are any.
const expireEvery = time.Second

// Pending holds what this process has written and the caches do not show yet, so that a
// pass never reads a state older than its own writes and never repeats a write.
type Pending struct {
	clock clock.Clock
	// Unconfirmed is called for a created object that no event has shown in time, or will show.
	Unconfirmed func(created *unstructured.Unstructured)
	// Lacks reports whether the cache has come to the version of an object and does not have it: one that comes and goes while a watch is down
	// is never seen.
	Lacks func(object *unstructured.Unstructured) bool
	// Completed is called for a write of which only the metadata was known, when its content is.
	Completed func(apply.Result)
	done      chan struct{}
	stop      func() // the expiry
	mu        sync.Mutex
	writes    map[apply.Key]write
	created   map[types.UID]map[apply.Key]bool // by owner
	// partial are the writes of which only the metadata is known, by owner.
	partial map[types.UID]map[apply.Key]bool
	// moved is when the last event of a kind came while there was such a write.
	moved       map[schema.GroupVersionKind]time.Time
	deletedUIDs *expiring.Map[types.UID, struct{}] // whose deletion was seen lately
	scheduled   bool                               // expire will be called
}

// write is an object after a write.
type write struct {
	object *unstructured.Unstructured
	// deleted is set for an observed object with a deletion timestamp added.
	deleted bool
	// fields are the kept entries of the object's managedFields.
	fields []any
	// partial is the result of the write if only the metadata of object is known, or nil.
	partial *apply.Result
	owner   types.UID
	at      time.Time
}

// NewPending returns a Pending without writes.
func NewPending(clock clock.Clock) *Pending {
	done := make(chan struct{})
	return &Pending{
		clock: clock, Unconfirmed: func(*unstructured.Unstructured) {}, Completed: func(apply.Result) {},
		Lacks: func(*unstructured.Unstructured) bool { return false },
		done:  done, stop: sync.OnceFunc(func() { close(done) }),
		writes: map[apply.Key]write{}, created: map[types.UID]map[apply.Key]bool{}, partial: map[types.UID]map[apply.Key]bool{},
		moved:       map[schema.GroupVersionKind]time.Time{},
		deletedUIDs: expiring.New[types.UID, struct{}](pendingWriteTTL, clock.Now()),
	}
}

// Close stops the expiry.
func (p *Pending) Close() { p.stop() }

// NoteWritten records an object that was written for owner. created reports whether it is new.
func (p *Pending) NoteWritten(owner types.UID, object *unstructured.Unstructured, created bool) {
	p.note(write{object: object, owner: owner}, created)
}

// NoteDeleted records that observed was deleted, which may take a while.
func (p *Pending) NoteDeleted(owner types.UID, observed *unstructured.Unstructured) {
	terminating := variant.WithMetadata(observed)
	now := metav1.NewTime(p.clock.Now())
	terminating.SetDeletionTimestamp(&now)
	p.note(write{object: terminating, deleted: true, owner: owner}, false)
}

func (p *Pending) note(w write, created bool) {
	key := apply.KeyOf(w.object)
	w.at = p.clock.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, over := p.deletedUIDs.Get(w.object.GetUID()); over {
		return // It was deleted before the response to the write was read.
	}
	created = created || p.created[w.owner][key]
	p.drop(key)
	p.writes[key] = w
	p.expireLater()
	if created {
		addTo(p.created, w.owner, key)
	}
	if w.partial != nil {
		addTo(p.partial, w.owner, key)
	}
}

func addTo(sets map[types.UID]map[apply.Key]bool, owner types.UID, key apply.Key) {
	if sets[owner] == nil {
		sets[owner] = map[apply.Key]bool{}
	}
	sets[owner][key] = true
}

func dropFrom(sets map[types.UID]map[apply.Key]bool, owner types.UID, key apply.Key) {
	delete(sets[owner], key)
	if len(sets[owner]) == 0 {
		delete(sets, owner)
	}
}

// SetFields records the managedFields of an object that was just written.
func (p *Pending) SetFields(object *unstructured.Unstructured, fields []any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w, ok := p.writes[apply.KeyOf(object)]; ok && w.object == object {
		w.fields = fields
		p.writes[apply.KeyOf(object)] = w
	}
}

// Fields returns the recorded managedFields of an object that newest returned, or nil if there
// are none or only a cache has them.
func (p *Pending) Fields(object *unstructured.Unstructured) []any {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.writes) == 0 {
		return nil
	}
	if w := p.writes[apply.KeyOf(object)]; w.object == object {
		return w.fields
	}
	return nil
}

// Newest returns the newest known state of a cached object.
func (p *Pending) Newest(cached *unstructured.Unstructured) *unstructured.Unstructured {
	objects := []*unstructured.Unstructured{cached}
	p.SetNewest(objects)
	return objects[0]
}

// SetNewest replaces cached objects by their newest known states.
func (p *Pending) SetNewest(objects []*unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.writes) == 0 {
		return
	}
	for i, cached := range objects {
		w, ok := p.writes[apply.KeyOf(cached)]
		if !ok || w.partial != nil || p.expired(w) || w.object.GetUID() != cached.GetUID() || newer(cached, w.object) {
			continue // A partial one has no content; its owner waits for it.
		}
		objects[i] = w.object
	}
}

// CreatedBy returns the objects that were created for owner and that no event has shown yet.
func (p *Pending) CreatedBy(owner types.UID) []*unstructured.Unstructured {
	p.mu.Lock()
	defer p.mu.Unlock()
	var objects []*unstructured.Unstructured
	for key := range p.created[owner] {
		if w := p.writes[key]; p.expired(w) {
			p.drop(key)
		} else if w.partial == nil {
			objects = append(objects, w.object)
		}
	}
	return objects
}

// Observe drops the writes that a watch event shows or supersedes.
func (p *Pending) Observe(event informer.Event) {
	if completed, ok := p.dropShown(event); ok {
		p.Completed(completed)
	}
}

// dropShown is observe without the call of completed. It returns the write that the event completes, and whether it does.
func (p *Pending) dropShown(event informer.Event) (completed apply.Result, ok bool) {
	object := event.Object()
	key := apply.KeyOf(object)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.partial) > 0 {
		p.moved[key.Kind] = p.clock.Now()
	}
	if event.New == nil {
		p.deletedUIDs.Rotate(p.clock.Now())
		p.deletedUIDs.Put(object.GetUID(), struct{}{})
		p.expireLater()
	}
	w, pending := p.writes[key]
	switch {
	case !pending || w.object.GetUID() != object.GetUID():
		return apply.Result{}, false
	case event.New == nil, newer(object, w.object), !w.deleted && !newer(w.object, object):
		p.drop(key)
	default:
		return apply.Result{}, false
	}
	if event.New == nil {
		return apply.Result{}, false
	}
	return w.completedBy(event.New)
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

func (p *Pending) expired(w write) bool { return p.clock.Since(w.at) > pendingWriteTTL }

// expireLater schedules expire unless it is scheduled.
func (p *Pending) expireLater() {
	if p.scheduled {
		return
	}
	p.scheduled = true
	timer := p.clock.NewTimer(expireEvery)
	go func() {
		defer timer.Stop()
		select {
		case <-timer.C():
			p.expire()
		case <-p.done:
		}
	}()
}

// expire drops expired writes, and those of objects that have gone, and reports the creations among them.
func (p *Pending) expire() {
	for _, created := range p.dropExpired(p.gone()) {
		p.Unconfirmed(created)
	}
}

// gone returns the writes of objects that the caches lack, which are asked without the lock: they call Observe.
func (p *Pending) gone() map[*unstructured.Unstructured]bool {
	p.mu.Lock()
	written := slices.Collect(maps.Values(p.writes))
	p.mu.Unlock()
	gone := map[*unstructured.Unstructured]bool{}
	for _, w := range written {
		if p.Lacks(w.object) {
			gone[w.object] = true
		}
	}
	return gone
}

func (p *Pending) dropExpired(gone map[*unstructured.Unstructured]bool) (created []*unstructured.Unstructured) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deletedUIDs.Rotate(p.clock.Now())
	for key, w := range p.writes {
		if !p.expired(w) && !gone[w.object] {
			continue
		}
		if p.created[w.owner][key] {
			created = append(created, w.object)
		}
		p.drop(key)
	}
	p.scheduled = false
	if len(p.writes) > 0 || p.deletedUIDs.Len() > 0 {
		p.expireLater()
	}
	return created
}

func (p *Pending) drop(key apply.Key) {
	owner := p.writes[key].owner
	delete(p.writes, key)
	dropFrom(p.created, owner, key)
	dropFrom(p.partial, owner, key)
}
