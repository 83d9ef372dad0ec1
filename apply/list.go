package apply

import "slices"

// list merges lists: as a set if that is what they are, item by item if the items
// can be told apart, and otherwise as one value.
func (m merger) list(at place, o, l, d []any) ([]any, bool) {
	if at == (place{"metadata", "finalizers"}) {
		return mergeSet(o, l, d)
	}
	if p, ok := pair(o, d); ok {
		return m.items(p, l)
	}
	if compareLists(o, d, same) || (m.settled || compareLists(l, d, sameOrDigest)) && covers(at, o, d) {
		return o, false
	}
	return d, true
}

// mergeSet merges a set of scalars to which others add too.
func mergeSet(o, l, d []any) ([]any, bool) {
	out := draft{from: o}
	for _, v := range o {
		if contains(l, v) && !contains(d, v) {
			out.drop()
		} else {
			out.keep(v)
		}
	}
	for _, v := range d {
		if !contains(o, v) {
			out.add(v)
		}
	}
	return out.list()
}

func contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return Equal(v, other) })
}

// covers reports whether o is d with no more than defaults filled in: the items of
// d at their positions, each with all that d asks for.
func covers(at place, o, d []any) bool {
	if len(o) < len(d) || len(o) > len(d) && !growing[at.field] {
		return false
	}
	m := merger{settled: true}
	for i := range d {
		if _, differs := m.value(at, o[i], d[i], d[i]); differs {
			return false
		}
	}
	return true
}

// items merges lists whose items can be told apart. Items stay where they are and
// new ones are appended, unless the order is asked for anew.
func (m merger) items(p pairing, l []any) ([]any, bool) {
	last := p.desired
	if !m.settled {
		last, _ = index(p.desired.key, l)
	}
	out := draft{from: p.observed.items}
	for i, item := range p.observed.items {
		name := p.observed.names[i]
		want := p.desired.find(name)
		was := last.find(name)
		switch {
		case want >= 0:
			value, differs := m.object(place{}, objectOf(item), last.object(was), p.desired.object(want))
			out.merge(item, value, differs)
		case was >= 0:
			out.drop()
		default:
			out.keep(item)
		}
	}
	for i, item := range p.desired.items {
		if p.observed.find(p.desired.names[i]) < 0 {
			out.add(item)
		}
	}
	if !m.settled && !slices.Equal(last.names, p.desired.names) {
		p.arrange(&out)
	}
	return out.list()
}

func objectOf(item any) map[string]any {
	object, _ := item.(map[string]any)
	return object
}
