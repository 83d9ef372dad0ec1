package merge

import (
	"slices"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// list merges lists: as a set if that is what they are, item by item if the items
// have keys, and otherwise as one value.
func (m merger) list(at place, o, l, d []any) ([]any, bool) {
	switch relation := m.relation(at); relation {
	case openapi.Set:
		return mergeSet(o, l, d)
	case openapi.Map:
		if p, ok := pairAs(at.schema, o, d); ok {
			return m.items(at, p, l)
		}
		return m.wholeList(at, o, l, d)
	case openapi.Atomic:
		return m.wholeList(at, o, l, d)
	}
	if p, ok := pair(o, d); ok {
		return m.items(at, p, l)
	}
	if jsonvalue.EqualLists(o, d, jsonvalue.EqualScalars) || (m.settled || jsonvalue.EqualLists(l, d, sameOrDigest)) && covers(at, o, d) {
		return o, false
	}
	return d, true
}

// relation returns how the items of a list belong together. Within what is one value,
// so is every list.
func (m merger) relation(at place) openapi.Relation {
	switch {
	case m.exact:
		return openapi.Atomic
	case at.schema != nil && at.schema.Relation != openapi.Unknown:
		return at.schema.Relation
	case at.parent == "metadata" && at.field == "finalizers":
		return openapi.Set
	}
	return openapi.Unknown
}

// wholeList merges lists that are one value each: d takes the place of o, unless o is
// d with what the API server has filled in.
func (m merger) wholeList(at place, o, l, d []any) ([]any, bool) {
	mayGrow := growing[at.field] && (m.settled || jsonvalue.EqualLists(l, d, sameOrDigest))
	if len(o) < len(d) || len(o) > len(d) && !mayGrow {
		return d, true
	}
	part := merger{settled: m.settled, exact: true}
	item := place{parent: at.parent, field: at.field, schema: at.schema.Item()}
	for i := range d {
		if _, differs := part.value(item, o[i], jsonvalue.At(l, i), d[i]); differs {
			return d, true
		}
	}
	return o, false
}

// mergeSet merges a set of scalars to which others add too.
func mergeSet(o, l, d []any) ([]any, bool) {
	out := sliceBuilder{source: o}
	for _, v := range o {
		if jsonvalue.Contains(l, v) && !jsonvalue.Contains(d, v) {
			out.drop()
		} else {
			out.keep(v)
		}
	}
	for i, v := range d {
		if !jsonvalue.Contains(o, v) && !jsonvalue.Contains(d[:i], v) {
			out.add(v)
		}
	}
	return out.list()
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

// items merges lists whose items have keys. Items stay where they are and
// new ones are appended, unless the order is asked for anew.
func (m merger) items(at place, p pairing, l []any) ([]any, bool) {
	within := place{schema: at.schema.Item()}
	retains := at.schema != nil && at.schema.Retains
	last := p.desired
	if !m.settled {
		last, _ = index(p.desired.key, l)
	}
	out := sliceBuilder{source: p.observed.items}
	for i, item := range p.observed.items {
		name := p.observed.names[i]
		want := p.desired.find(name)
		was := last.find(name)
		switch {
		case want >= 0:
			value, differs := m.object(within, jsonvalue.AsObject(item), last.object(was), p.desired.object(want))
			if differs && retains {
				value = retained(value, p.desired.object(want))
			}
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
