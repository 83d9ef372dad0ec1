package serverside

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// heldItems are the items of a list that a manager holds.
type heldItems struct {
	fields map[string]any
	// field is that of the key, where it is one alone and the value a text: then
	// an item is found by writing its key.
	field string
	// keys are made once an item is not found so.
	keys []heldItem
}

// heldItem is an item by its key, or a scalar of a set by its value.
type heldItem struct {
	key    map[string]any
	scalar any
	below  map[string]any
}

func itemsOf(fields map[string]any) *heldItems {
	h := &heldItems{fields: fields}
	for name := range fields {
		if rest, ok := strings.CutPrefix(name, `k:{"`); ok {
			h.field, _, _ = strings.Cut(rest, `":"`)
			break
		}
	}
	return h
}

// hold reports whether the item at a position and everything in it is held. An item that
// leaves out a part of its key may be any of several. Seen are the object's items.
func (h *heldItems) hold(i int, item any, seen []any) bool {
	if below, held := h.named(item); held {
		text := jsonvalue.AsObject(item)[h.field]
		return holds(below, item, near(i, seen, func(other any) bool { return jsonvalue.AsObject(other)[h.field] == text }))
	}
	for _, k := range h.parsed() {
		if k.is(item) && holds(k.below, item, near(i, seen, func(other any) bool { return keyed(jsonvalue.AsObject(other), k.key) })) {
			return true
		}
	}
	return false
}

// near returns the item that is the one looked for, which most often is at that position,
// or nil.
func near(i int, list []any, is func(any) bool) any {
	if i < len(list) && is(list[i]) {
		return list[i]
	}
	if i = slices.IndexFunc(list, is); i >= 0 {
		return list[i]
	}
	return nil
}

// find returns what is held of an item.
func (h *heldItems) find(item any) (below map[string]any, held bool) {
	if below, held = h.named(item); held {
		return below, true
	}
	for _, k := range h.parsed() {
		if k.is(item) {
			return k.below, true
		}
	}
	return nil, false
}

// named looks for an item by writing its key.
func (h *heldItems) named(item any) (below map[string]any, held bool) {
	object, _ := item.(map[string]any)
	text, ok := object[h.field].(string)
	if !ok || h.field == "" {
		return nil, false
	}
	below, held = h.fields[`k:{"`+h.field+`":"`+text+`"}`].(map[string]any)
	return below, held
}

// is reports whether an item is the one that is held.
func (k heldItem) is(item any) bool {
	if object, isObject := item.(map[string]any); isObject {
		return k.key != nil && keyed(object, k.key)
	}
	return k.key == nil && jsonvalue.Equal(k.scalar, item)
}

func (h *heldItems) parsed() []heldItem {
	if h.keys != nil {
		return h.keys
	}
	h.keys = make([]heldItem, 0, len(h.fields))
	for name, below := range h.fields {
		if key, ok := keyNamed(name); ok {
			h.keys = append(h.keys, heldItem{key: key, below: jsonvalue.AsObject(below)})
		} else if scalar, ok := scalarNamed(name); ok {
			h.keys = append(h.keys, heldItem{scalar: scalar, below: jsonvalue.AsObject(below)})
		}
	}
	return h.keys
}

// keyNamed returns the key that an element like k:{"name":"web"} stands for.
func keyNamed(name string) (key map[string]any, ok bool) {
	text, ok := strings.CutPrefix(name, "k:")
	return key, ok && json.Unmarshal([]byte(text), &key) == nil
}

// keyed reports whether an item has a key. A field of the key that the item lacks has
// its default there, whatever that is.
func keyed(item, key map[string]any) bool {
	found := false
	for name, value := range key {
		switch given := item[name]; {
		case given == nil:
		case !jsonvalue.Equal(given, value):
			return false
		default:
			found = true
		}
	}
	return found
}

// itemNamed returns the item of a list that an element stands for.
func itemNamed(name string, list []any) (any, bool) {
	if key, ok := keyNamed(name); ok {
		at := slices.IndexFunc(list, func(item any) bool { return keyed(jsonvalue.AsObject(item), key) })
		if at < 0 {
			return nil, false
		}
		return list[at], true
	}
	scalar, ok := scalarNamed(name)
	return scalar, ok && jsonvalue.Contains(list, scalar)
}
