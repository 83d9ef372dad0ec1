package javascript

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
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
	// read are the keys whose values the script has seen. Only the view of a
	// request keeps them, see isolate.requestView; elsewhere it is nil.
	read map[string]bool
}

func (o *object) Get(key string) goja.Value {
	o.noteRead(key)
	if v, ok := o.overrides[key]; ok {
		return v
	}
	v, ok := o.source[key]
	if !ok {
		o.i.missed = missed{o, key}
		return nil
	}
	shown := o.i.toValue(v, &o.node)
	if isContainer(v) {
		o.put(key, shown)
	}
	return shown
}

func (o *object) Set(key string, v goja.Value) bool {
	o.markChanged()
	if !o.Has(key) && !o.hadKey(key) {
		o.added = append(o.added, key)
	}
	if v == nil {
		v = goja.Undefined()
	}
	o.put(key, v)
	return true
}

func (o *object) Has(key string) bool {
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
	if o.sorted == nil {
		o.sorted = slices.Sorted(maps.Keys(o.source))
	}
	if !o.changed {
		return o.sorted
	}
	keys := make([]string, 0, len(o.sorted)+len(o.added))
	for _, key := range o.sorted {
		if o.Has(key) {
			keys = append(keys, key)
		}
	}
	for _, key := range o.added {
		if o.Has(key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// noteRead notes that the script sees the value of key.
func (o *object) noteRead(key string) {
	if o.read != nil {
		o.read[key] = true
	}
}

// noteAllRead notes that the script sees all values.
func (o *object) noteAllRead() {
	if o.read == nil {
		return
	}
	for key := range o.source {
		o.noteRead(key)
	}
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
