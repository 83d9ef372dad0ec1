package memcluster

import (
	"maps"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Copy returns a cluster with the same objects and versions, which goes on by itself. It has no history and no watchers.
// Stored objects never change, so both clusters share them.
func (c *Cluster) Copy(clock clock.PassiveClock) *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	other := &Cluster{
		clock: clock, version: c.version, managed: c.managed, existing: c.existing, watchStarted: make(chan struct{}),
		tables: make(map[schema.GroupVersionResource]*table, len(c.tables)), byKind: make(map[schema.GroupVersionKind]*table, len(c.byKind)),
	}
	for _, refusal := range c.refusals {
		left := *refusal
		other.refusals = append(other.refusals, &left)
	}
	for gvr, t := range c.tables {
		next := &table{
			Resource: t.Resource, fields: maps.Clone(t.fields), objects: maps.Clone(t.objects), creations: maps.Clone(t.creations),
			watchers: map[*watcher]bool{},
		}
		other.tables[gvr], other.byKind[t.Kind] = next, next
	}
	return other
}

// scratch returns a table with one object of this one, on which a write leaves no traces.
func (t *table) scratch(key types.NamespacedName) *table {
	scratch := &table{Resource: t.Resource, fields: t.fields, objects: map[types.NamespacedName]*unstructured.Unstructured{},
		creations: map[types.NamespacedName]int{key: t.creations[key]}, dryRun: true}
	if object := t.objects[key]; object != nil {
		scratch.objects[key] = object
	}
	return scratch
}
