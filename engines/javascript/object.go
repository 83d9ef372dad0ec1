package javascript

import (
	"maps"
	"slices"

	"github.com/dop251/goja"

	"github.com/libretto-k8s/libretto/engines"
)

// object is the view of a map. It implements goja.DynamicObject.
type object struct {
	node
	source map[string]any
	// overrides holds what differs from source, and the objects made for its parts. A
	// nil value is a deleted property.
	overrides map[string]goja.Value
	// added are the keys that source does not have, in the order in which they were written.
	added []string
	// sorted are the keys of source. They are nil until needed.
	sorted []string
	// reads notes what the script sees of source. Only views of the request, the parent and its metadata
	// have one; elsewhere it is nil.
	reads *engines.Reads
}

func (o *object) Get(key string) goja.Value {
	if v, ok := o.overrides[key]; ok {
		return v
	}
	v, ok := o.source[key]
	part := o.reads.Field(key, v)
	if !ok {
		o.i.missed = missed{o, key}
		return nil
	}
	shown := o.i.toValue(v, &o.node, part)
	if isContainer(v) {
		o.put(key, shown)
	}
	return shown
}

func (o *object) Set(key string, v goja.Value) bool {
	o.markChanged()
	if !o.has(key) && !o.hadKey(key) {
		o.added = append(o.added, key)
	}
	if v == nil {
		v = goja.Undefined()
	}
	o.put(key, v)
	return true
}

func (o *object) Has(key string) bool {
	if _, ok := o.overrides[key]; !ok {
		o.reads.Field(key, o.source[key])
	}
	return o.has(key)
}

// has is Has for the host, which may ask without the script seeing the answer.
func (o *object) has(key string) bool {
	if v, ok := o.overrides[key]; ok {
		return v != nil
	}
	_, ok := o.source[key]
	return ok
}

func (o *object) Delete(key string) bool {
	if o.Has(key) {
		o.markChanged()
		o.put(key, nil)
	}
	return true
}

// Keys returns the map's keys in sorted order, then those that the script added.
// The random order of a Go map would make equal calls differ.
func (o *object) Keys() []string {
	o.reads.All()
	if o.sorted == nil {
		o.sorted = slices.Sorted(maps.Keys(o.source))
	}
	if !o.changed {
		return o.sorted
	}
	keys := make([]string, 0, len(o.sorted)+len(o.added))
	for _, key := range o.sorted {
		if o.has(key) {
			keys = append(keys, key)
		}
	}
	for _, key := range o.added {
		if o.has(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

func (o *object) put(key string, v goja.Value) {
	if o.overrides == nil {
		o.overrides = map[string]goja.Value{}
	}
	o.overrides[key] = v
}

// hadKey reports whether key has its place among the keys, even if it was deleted.
func (o *object) hadKey(key string) bool {
	_, ours := o.source[key]
	_, theirs := o.overrides[key]
	return ours || theirs
}
