package parent

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// aheadFor is how long a write counts that no watch event confirms: an object
// that comes and goes while a watch is down is never seen.
const aheadFor = time.Minute

// ahead holds what this process has written and the caches don't show yet, so
// that a pass never sees a state older than its own writes and never writes
// anything twice.
type ahead struct {
	clock   clock.PassiveClock
	mu      sync.Mutex
	writes  map[apply.Key]written
	created map[types.UID]map[apply.Key]bool // by owner
}

// written is one write.
type written struct {
	object   *unstructured.Unstructured // as the API server returned it
	replaces string                     // the resourceVersion before; "" for a creation
	owner    types.UID
	at       time.Time
}

func newAhead(clock clock.PassiveClock) *ahead {
	return &ahead{clock: clock, writes: map[apply.Key]written{}, created: map[types.UID]map[apply.Key]bool{}}
}

// wrote notes that object was written over the version that replaces names, on behalf of owner.
func (a *ahead) wrote(owner types.UID, object *unstructured.Unstructured, replaces string) {
	key := apply.KeyOf(object)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.drop(key)
	a.writes[key] = written{object: object, replaces: replaces, owner: owner, at: a.clock.Now()}
	if replaces == "" {
		if a.created[owner] == nil {
			a.created[owner] = map[apply.Key]bool{}
		}
		a.created[owner][key] = true
	}
}

// deleted notes that observed was deleted, which may take a while to be done.
func (a *ahead) deleted(owner types.UID, observed *unstructured.Unstructured) {
	terminating := *observed
	terminating.Object = withDeletion(observed.Object, metav1.NewTime(a.clock.Now()))
	a.wrote(owner, &terminating, observed.GetResourceVersion())
}

// newest gives the newest known state of an object that a cache holds.
func (a *ahead) newest(cached *unstructured.Unstructured) *unstructured.Unstructured {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.writes) == 0 {
		return cached
	}
	w, ok := a.writes[apply.KeyOf(cached)]
	if !ok || a.expired(w) || w.replaces != cached.GetResourceVersion() || w.object.GetUID() != cached.GetUID() {
		return cached
	}
	return w.object
}

// createdBy gives what was created on behalf of owner and no cache has shown yet.
func (a *ahead) createdBy(owner types.UID) []*unstructured.Unstructured {
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

// seen takes note of a watch event: a write that it confirms, or that something
// newer has replaced, is no longer ahead.
func (a *ahead) seen(event informer.Event) {
	object := event.Object()
	key := apply.KeyOf(object)
	a.mu.Lock()
	defer a.mu.Unlock()
	w, ok := a.writes[key]
	if !ok || w.object.GetUID() != object.GetUID() {
		return
	}
	if event.New == nil || object.GetResourceVersion() != w.replaces {
		a.drop(key)
	}
}

func (a *ahead) expired(w written) bool { return a.clock.Since(w.at) > aheadFor }

func (a *ahead) drop(key apply.Key) {
	owner := a.writes[key].owner
	delete(a.writes, key)
	delete(a.created[owner], key)
	if len(a.created[owner]) == 0 {
		delete(a.created, owner)
	}
}

// withDeletion gives a copy of an object's top two levels that says it is being deleted.
func withDeletion(object map[string]any, at metav1.Time) map[string]any {
	top := make(map[string]any, len(object))
	for key, value := range object {
		top[key] = value
	}
	before, _ := object["metadata"].(map[string]any)
	metadata := make(map[string]any, len(before)+1)
	for key, value := range before {
		metadata[key] = value
	}
	metadata["deletionTimestamp"] = at.UTC().Format(time.RFC3339)
	top["metadata"] = metadata
	return top
}
