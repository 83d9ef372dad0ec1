// Package memcluster is a cluster in memory: as much of an API server as a
// controller can tell from the real one. It has no garbage collector, no other
// controllers and no admission, so that what happens in it is what its clients
// do, in the order in which they do it.
//
// Names, UIDs, versions and times depend on nothing but the requests and the
// clock: the same requests give the same cluster, byte for byte.
package memcluster

import (
	"fmt"
	"strconv"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Cluster is one cluster. It is used by many goroutines at once.
type Cluster struct {
	clock clock.PassiveClock

	mu       sync.Mutex
	tables   map[schema.GroupVersionResource]*table
	version  int64
	refusals []*Refusal
	joined   chan struct{} // closed when the next watch begins
}

// table holds the objects of one resource, and all that ever happened to them.
type table struct {
	Resource
	fields   *managedfields.FieldManager
	objects  map[types.NamespacedName]*unstructured.Unstructured
	made     map[types.NamespacedName]int // how often there was an object of that name
	log      []change
	watchers map[*watcher]bool
}

// change is an entry of a table's history.
type change struct {
	version int64
	event   watch.Event
}

// New makes an empty cluster that serves resources. A resource that is listed
// twice is as the last entry says.
func New(clock clock.PassiveClock, resources ...Resource) *Cluster {
	c := &Cluster{clock: clock, tables: map[schema.GroupVersionResource]*table{}, joined: make(chan struct{})}
	for _, r := range resources {
		c.tables[r.GroupVersionResource] = &table{
			Resource: r,
			fields:   newFieldManager(r.Kind),
			objects:  map[types.NamespacedName]*unstructured.Unstructured{},
			made:     map[types.NamespacedName]int{},
			watchers: map[*watcher]bool{},
		}
	}
	return c
}

// Find gives a resource by apiVersion and plural, or a *discovery.NotFoundError.
func (c *Cluster) Find(apiVersion, resource string) (discovery.Resource, error) {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err == nil {
		if t := c.tables[gv.WithResource(resource)]; t != nil {
			return t.Resource.Resource, nil
		}
	}
	return discovery.Resource{}, &discovery.NotFoundError{APIVersion: apiVersion, Resource: resource}
}

// ResourceOf gives the resource of a kind.
func (c *Cluster) ResourceOf(kind schema.GroupVersionKind) (Resource, error) {
	for _, t := range c.tables {
		if t.Kind == kind {
			return t.Resource, nil
		}
	}
	return Resource{}, fmt.Errorf("the cluster has no kind %s %s: declare its resource", kind.GroupVersion(), kind.Kind)
}

// next is the version of the next change. The lock is held.
func (c *Cluster) next() int64 {
	c.version++
	return c.version
}

// happened adds to the history, with the version on the object as it is seen
// from outside. What is in the history is never changed.
func (t *table) happened(kind watch.EventType, object *unstructured.Unstructured, version int64) {
	seen := object.DeepCopy()
	seen.SetResourceVersion(strconv.FormatInt(version, 10))
	t.log = append(t.log, change{version: version, event: watch.Event{Type: kind, Object: seen}})
	for w := range t.watchers {
		w.poke()
	}
}
