package merge

import (
	"slices"
	"strings"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// indexed is a list whose items have been named.
type indexed struct {
	key      listKey
	items    []any
	names    []string
	position map[string]int // nil if the list is short
}

// short is the length up to which it is faster to look through a list than to index it.
const short = 16

// index names items. It is unique if no two have the same name; otherwise the first
// of them has it alone.
func index(key listKey, items []any) (x indexed, unique bool) {
	x = indexed{key: key, items: items, names: make([]string, len(items))}
	if len(items) > short {
		x.position = make(map[string]int, len(items))
	}
	unique = true
	for i, item := range items {
		name := key.name(jsonvalue.AsObject(item))
		if x.findIn(i, name) >= 0 {
			unique, x.names[i] = false, nameless
			continue
		}
		x.names[i] = name
		if x.position != nil {
			x.position[name] = i
		}
	}
	return x, unique
}

// find returns the position of the item with a name, or -1.
func (x indexed) find(name string) int { return x.findIn(len(x.names), name) }

// findIn is find among the first n items.
func (x indexed) findIn(n int, name string) int {
	if name == nameless {
		return -1
	}
	if x.position == nil {
		return slices.Index(x.names[:n], name)
	}
	if i, ok := x.position[name]; ok {
		return i
	}
	return -1
}

// object returns the item at a position, or nil for -1.
func (x indexed) object(i int) map[string]any {
	if i < 0 {
		return nil
	}
	return jsonvalue.AsObject(x.items[i])
}

// pairing is two lists whose items have the same key.
type pairing struct{ observed, desired indexed }

// pair finds the key for two lists. It is not ok if there is none by which each
// item of either list is unique.
func pair(o, d []any) (p pairing, ok bool) {
	keys := commonKeys(o, d)
	if keys == 0 {
		return p, false
	}
	i := keys.first()
	if p, ok = pairBy(listKey{fields: mergeKeys[i : i+1]}, o, d); ok {
		return p, true
	}
	return bestPair(keys.candidates(), o, d)
}

// Pairs returns the items of two lists that have the same key, such as port=53,protocol=UDP,
// and those that only one of them has. It is not ok if the lists have no key.
func Pairs(a, b []any) (pairs []jsonvalue.Pair, ok bool) {
	p, ok := pair(a, b)
	if !ok {
		return nil, false
	}
	for i, name := range p.observed.names {
		pairs = append(pairs, jsonvalue.Pair{Name: p.describe(name), A: a[i], B: jsonvalue.At(b, p.desired.find(name))})
	}
	for i, name := range p.desired.names {
		if p.observed.find(name) < 0 {
			pairs = append(pairs, jsonvalue.Pair{Name: p.describe(name), B: b[i]})
		}
	}
	return pairs, true
}

// describe returns the fields of a key with their values.
func (p pairing) describe(name string) string {
	parts := strings.Split(name, separator)
	for i := range parts {
		parts[i] = p.desired.key.fields[i] + "=" + parts[i]
	}
	return strings.Join(parts, ",")
}

// pairAs is pair by the key that the schema of the list tells. It is not ok either if
// an item has nothing of the key.
func pairAs(list *openapi.Node, o, d []any) (p pairing, ok bool) {
	key := listKey{fields: list.Keys}
	if item := list.Item(); item != nil {
		key.defaults = item.Defaults
	}
	p, ok = pairBy(key, o, d)
	return p, ok && !slices.Contains(p.observed.names, nameless) && !slices.Contains(p.desired.names, nameless)
}

// bestPair returns the pairing in which most of the desired items are found.
func bestPair(keys []listKey, o, d []any) (best pairing, found bool) {
	matches := -1
	for _, key := range keys {
		p, unique := pairBy(key, o, d)
		if unique && p.matches() > matches {
			best, found, matches = p, true, p.matches()
		}
	}
	return best, found
}

func pairBy(key listKey, o, d []any) (p pairing, unique bool) {
	if p.observed, unique = index(key, o); !unique {
		return p, false
	}
	p.desired, unique = index(key, d)
	return p, unique
}

// matches counts the desired items that are observed.
func (p pairing) matches() int {
	n := 0
	for _, name := range p.desired.names {
		if p.observed.find(name) >= 0 {
			n++
		}
	}
	return n
}

// arrange puts the desired items of a list, which has all of them, into the
// desired order. The others stay where they are.
func (p pairing) arrange(x *sliceBuilder) {
	items := x.items()
	ordered := slices.Clone(items)
	place := make([]int, 0, len(p.desired.names))
	byName := make([]any, len(p.desired.names))
	for i, item := range items {
		if want := p.desired.find(p.desired.key.name(jsonvalue.AsObject(item))); want >= 0 {
			place = append(place, i)
			byName[want] = item
		}
	}
	if len(place) != len(byName) {
		return
	}
	moved := false
	for want, i := range place {
		moved = moved || p.desired.find(p.desired.key.name(jsonvalue.AsObject(items[i]))) != want
		ordered[i] = byName[want]
	}
	if moved {
		x.out, x.differs = ordered, true
	}
}
