package merge

import (
	"math/bits"
	"strconv"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// listKey names the fields that together identify an item of a list, and what they
// are where they are missing.
type listKey struct {
	fields   []string
	defaults map[string]any
}

// protocol completes a listKey for ports: 53/TCP and 53/UDP are two. A port
// without protocol has the API server's default.
const protocol = "protocol"

var defaultProtocol = map[string]any{protocol: "TCP"}

// nameless stands for an item that lacks a field of the key; separator stands
// between the values of several.
const (
	nameless  = "\x00"
	separator = "\x1f"
)

// name returns what identifies an item, or nameless.
func (k listKey) name(item map[string]any) string {
	if len(k.fields) == 1 {
		return k.part(item, k.fields[0])
	}
	parts := make([]string, len(k.fields))
	for i, field := range k.fields {
		if parts[i] = k.part(item, field); parts[i] == nameless {
			return nameless
		}
	}
	return strings.Join(parts, separator)
}

// part returns the text of one field of an item.
func (k listKey) part(item map[string]any, field string) string {
	if text := scalarText(item[field]); text != nameless {
		return text
	}
	return scalarText(k.defaults[field])
}

// scalarText writes a scalar such that 80 and "80" are one.
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	}
	if i, ok := jsonvalue.Integer(v); ok {
		return strconv.FormatInt(i, 10)
	}
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return nameless
}

// identifies reports whether a value can be a key, which is to say a string or a number.
func identifies(v any) bool {
	switch v.(type) {
	case string, int64, float64, int, int32:
		return true
	}
	return false
}

// keySet is a set of mergeKeys, a bit for each.
type keySet uint8

// commonKeys returns the merge keys that all items of both lists have. It is empty
// if an item is no object.
func commonKeys(o, d []any) keySet {
	if len(o)+len(d) == 0 {
		return 0
	}
	return keysOf(d, keysOf(o, 1<<len(mergeKeys)-1))
}

// keysOf returns those of some keys that all items have.
func keysOf(items []any, among keySet) keySet {
	for _, item := range items {
		object, ok := item.(map[string]any)
		if !ok {
			return 0
		}
		for rest := among; rest != 0; rest &= rest - 1 {
			i := rest.first()
			if !identifies(object[mergeKeys[i]]) {
				among &^= 1 << i
			}
		}
	}
	return among
}

// first returns the strongest key of a set.
func (s keySet) first() int { return bits.TrailingZeros8(uint8(s)) }

// candidates returns the keys that might tell items apart if the strongest does
// not: each other one alone, the strongest with the protocol, and all together.
func (s keySet) candidates() []listKey {
	var keys []listKey
	var all []string
	for rest := s; rest != 0; rest &= rest - 1 {
		i := rest.first()
		keys = append(keys, listKey{fields: mergeKeys[i : i+1]})
		all = append(all, mergeKeys[i])
	}
	return append(keys[1:],
		listKey{fields: []string{all[0], protocol}, defaults: defaultProtocol},
		listKey{fields: append(all, protocol), defaults: defaultProtocol})
}
