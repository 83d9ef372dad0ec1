package serverside

import (
	"encoding/json"
	"strings"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// What follows walks through FieldsV1, the API server's record of which fields a
// manager holds. It is a tree that shows by itself how fine-grained every field is:
// "f:" leads to a field of an object, "k:" to an item of a list by its key, "v:" to a
// scalar of a set, and "." stands for the thing itself. What has nothing below it is
// held as a whole. So no schema is needed to compare with it.

// holds reports whether everything in value is among fields. Seen is what the object has
// in its place.
func holds(fields map[string]any, value, seen any) bool {
	if len(fields) == 0 {
		return holdsWhole(value, seen)
	}
	switch v := value.(type) {
	case map[string]any:
		there := jsonvalue.AsObject(seen)
		for name, field := range v {
			if field != nil && !holdsField(fields, name, field, there) {
				return false
			}
		}
	case []any:
		items := itemsOf(fields)
		there, _ := seen.([]any)
		for i, item := range v {
			if !items.hold(i, item, there) {
				return false
			}
		}
	}
	return true
}

// holdsField looks for one field. An empty list or object need not be held.
func holdsField(fields map[string]any, name string, value any, seen map[string]any) bool {
	below, held := fields["f:"+name].(map[string]any)
	if !held {
		return empty(value)
	}
	return holds(below, value, seen[name])
}

// holdsWhole reports whether a value that is held as a whole is there. The record is not enough
// for an object: one that was held field by field looks the same once all fields are lost, and
// then has other values.
func holdsWhole(value, seen any) bool {
	object, isObject := value.(map[string]any)
	if !isObject || len(object) == 0 {
		return true
	}
	return merge.Keeps(seen, object)
}

// empty reports whether v is a list or an object without content.
func empty(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) == 0
	case []any:
		return len(v) == 0
	}
	return false
}

// Restrict returns what of value is among fields, or nil if nothing is.
func Restrict(fields map[string]any, value any) any {
	if len(fields) == 0 {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(fields))
		for name, below := range fields {
			if name, isField := strings.CutPrefix(name, "f:"); isField && v[name] != nil {
				out[name] = Restrict(jsonvalue.AsObject(below), v[name])
			}
		}
		return out
	case []any:
		items, out := itemsOf(fields), []any{}
		for _, item := range v {
			if below, held := items.find(item); held {
				out = append(out, Restrict(below, item))
			}
		}
		return out
	}
	return value
}

// Within returns what of fields is in value, or nil if nothing is. A digest in value stands
// for all below it.
func Within(fields map[string]any, value any) map[string]any {
	switch value.(type) {
	case nil:
		return nil
	case map[string]any, []any:
	default:
		return fields
	}
	if len(fields) == 0 {
		return fields
	}
	out := map[string]any{}
	for name, below := range fields {
		if kept := Within(jsonvalue.AsObject(below), named(name, value)); kept != nil {
			out[name] = kept
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// named returns what an element of a record stands for in a value, or nil.
func named(element string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		if element == "." {
			return v
		}
		field, _ := strings.CutPrefix(element, "f:")
		return v[field]
	case []any:
		if item, ok := itemNamed(element, v); ok {
			return item
		}
	}
	return nil
}

// Union returns the fields of both.
func Union(a, b map[string]any) map[string]any {
	out := jsonvalue.Clone(a)
	for name, below := range b {
		out[name] = Union(jsonvalue.AsObject(out[name]), jsonvalue.AsObject(below))
	}
	return out
}

// includes reports whether all of b is among a.
func includes(a, b map[string]any) bool {
	for name, below := range b {
		there, held := a[name].(map[string]any)
		if !held || !includes(there, jsonvalue.AsObject(below)) {
			return false
		}
	}
	return true
}

// scalarNamed returns the scalar that an element like v:"x" stands for.
func scalarNamed(name string) (value any, ok bool) {
	text, ok := strings.CutPrefix(name, "v:")
	return value, ok && json.Unmarshal([]byte(text), &value) == nil
}
