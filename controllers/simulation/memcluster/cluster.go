// Package memcluster is a fake API server in memory with a dynamic client. It has no garbage collector, no
// controllers and no admission: only its clients change it.
//
// Names, UIDs, versions and times depend only on the requests and the clock: the same requests make the
// same cluster, byte for byte.
package memcluster

import (
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Cluster is a cluster. It is safe for concurrent use.
type Cluster struct {
	clock clock.PassiveClock

	mu           sync.Mutex
	tables       map[schema.GroupVersionResource]*table
	byKind       map[schema.GroupVersionKind]*table
	version      int64
	refusals     []*Refusal
	interruption *interruption
	existing     func(Resource, types.NamespacedName) (*unstructured.Unstructured, error)
	observe      func(watch.Event)
	watchStarted chan struct{} // Closed when the next watch begins.
	managed      bool          // Objects have managedFields from their creation on.
}

// table holds the objects of one resource and its history.
type table struct {
	Resource
	fields    map[string]*managedfields.FieldManager // By subresource, once they are needed.
	objects   map[types.NamespacedName]*unstructured.Unstructured
	creations map[types.NamespacedName]int // How many objects of that name were created.
	log       []change
	// forgotten is the version up to which changes are not in the log any more.
	forgotten int64
	watchers  map[*watcher]bool
	listed    bool // by anyone, who may watch from there on
	dryRun    bool // Nothing is stored.
	// heldFrom is the version after which changes are not sent, if held is set.
	held     bool
	heldFrom int64
}

// change is an entry of a table's history.
type change struct {
	version int64
	event   watch.Event
	before  *unstructured.Unstructured // Nil of an object that is added.
}

// New returns an empty cluster that serves resources. For a resource that is listed twice, the last entry
// counts.
func New(clock clock.PassiveClock, resources ...Resource) *Cluster {
	c := &Cluster{
		clock: clock, tables: map[schema.GroupVersionResource]*table{}, byKind: map[schema.GroupVersionKind]*table{},
		watchStarted: make(chan struct{}),
	}
	for _, r := range resources {
		delete(c.tables, r.GroupVersionResource)
		c.serve(r)
	}
	return c
}

// Serve makes the cluster serve a resource. If it does already, its objects stay. What the new schema changes of them is stored: an API
// server makes no new version of that, and ends the watches, so that clients list again.
func (c *Cluster) Serve(r Resource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.serve(r)
}

func (c *Cluster) serve(r Resource) {
	t := c.tables[r.GroupVersionResource]
	if t == nil {
		t = &table{
			objects:   map[types.NamespacedName]*unstructured.Unstructured{},
			creations: map[types.NamespacedName]int{},
			watchers:  map[*watcher]bool{},
		}
	}
	delete(c.byKind, t.Kind)
	t.Resource, t.fields = r, map[string]*managedfields.FieldManager{}
	c.tables[r.GroupVersionResource], c.byKind[r.Kind] = t, t
	for _, object := range t.sorted() {
		// What can't be read stays as it is.
		if read, err := t.decoded(&request{}, object); err == nil && !isEqual(object.Object, read.Object) {
			c.store(t, watch.Modified, read)
		}
	}
}

// Unserve makes the cluster forget a resource and its objects, and ends its watches.
func (c *Cluster) Unserve(resource schema.GroupVersionResource) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.tables[resource]
	if t == nil {
		return
	}
	delete(c.tables, resource)
	delete(c.byKind, t.Kind)
	for w := range t.watchers {
		w.end()
	}
}

// ManageFields has objects have managedFields from their creation on, as an API server does, with times. Otherwise they have them from
// their first apply on, without those of the status. Call it before there are objects.
func (c *Cluster) ManageFields() { c.managed = true }

// Observe has f called with each change of an object, in order. It is called with the cluster locked, so that it must not call it.
func (c *Cluster) Observe(f func(watch.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.observe = f
}

// Find returns a resource by apiVersion and plural, or a *discovery.NotFoundError.
func (c *Cluster) Find(apiVersion, resource string) (discovery.Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err == nil {
		if t := c.tables[gv.WithResource(resource)]; t != nil {
			return t.Resource.Resource, nil
		}
	}
	known := func(yield func(discovery.Resource) bool) {
		for _, t := range c.tables {
			if !yield(t.Resource.Resource) {
				return
			}
		}
	}
	return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource,
		Hint: discovery.Hint(apiVersion, resource, known)}
}

// ResourceOf returns the resource of a kind.
func (c *Cluster) ResourceOf(kind schema.GroupVersionKind) (Resource, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.byKind[kind]; t != nil {
		return t.Resource, nil
	}
	return Resource{}, errNoKind(kind)
}

func errNoKind(kind schema.GroupVersionKind) error {
	return fmt.Errorf("the cluster has no kind %s %s: declare its resource", kind.GroupVersion(), kind.Kind)
}

// Version returns the version of the last change.
func (c *Cluster) Version() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.version
}

// next returns the version of the next change. The lock is held.
func (c *Cluster) next() int64 {
	c.version++
	return c.version
}

// keptChanges is how many changes a table's history has at least, once it has had twice as many.
const keptChanges = 10_000

// appendEvent appends an object with that version to the history, which replaces the one before. It never changes any more.
func (c *Cluster) appendEvent(t *table, kind watch.EventType, object, before *unstructured.Unstructured, version int64) {
	if len(t.log) == 2*keptChanges {
		t.log = slices.Clone(t.log[keptChanges:])
		t.forgotten = t.log[0].version - 1
	}
	event := watch.Event{Type: kind, Object: object}
	t.log = append(t.log, change{version: version, event: event, before: before})
	for w := range t.watchers {
		w.notify()
	}
	if c.observe != nil {
		c.observe(event)
	}
}
