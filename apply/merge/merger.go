package merge

import (
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// merger merges what was observed (o), what was asked for last time (l) and what
// is desired (d). In all three, null is as good as absent, but for a desired one that the schema allows: it takes the place
// of another value, as the API server puts its default where there is nothing.
//
// Its methods say whether the result differs from o; if not, the result is o. A
// result that differs shares with o and d whatever it can.
//
// Two thoughts run through it. What was asked for last time and is no longer
// desired is removed, and everything else that is observed stays. And what was
// asked for last time in the very same words, and was then written down by the API
// server in other words, is no difference: to ask again would change nothing.
//
// Where the schema of a value is known, it says how the value is merged. Elsewhere,
// the conventions do.
type merger struct {
	// settled reports that l is d everywhere.
	settled bool
	// exact reports that the value is a part of one that is merged as a whole, so that
	// others cannot have added to it.
	exact bool
}

// place is where a value stands: its field, the field of the object around it, and
// its schema, if that is known.
type place struct {
	parent, field string
	schema        *openapi.Node
}

// in returns the place of a field.
func (p place) in(field string) place {
	return place{parent: p.field, field: field, schema: p.schema.Field(field)}
}

// atomic reports whether an object is one value.
func (p place) atomic() bool { return p.schema != nil && p.schema.Atomic }

// nullable reports whether null is a value.
func (p place) nullable() bool { return p.schema != nil && p.schema.Nullable }

// value merges any values.
func (m merger) value(at place, o, l, d any) (any, bool) {
	if text, ok := l.(string); ok && digestOf(text, d) {
		l = d
	}
	switch d := d.(type) {
	case map[string]any:
		if o, ok := o.(map[string]any); ok {
			l, _ := l.(map[string]any)
			if at.atomic() {
				return m.whole(at, o, l, d)
			}
			return m.object(at, o, l, d)
		}
	case []any:
		if list, ok := o.([]any); ok {
			l, _ := l.([]any)
			if out, differs := m.list(at, list, l, d); differs {
				return out, true
			}
			return o, false
		}
	}
	if jsonvalue.EqualScalars(o, d) || sameForm(at, o, d) || m.tolerates(at, o, l, d) {
		return o, false
	}
	return d, true
}

// object merges field by field.
func (m merger) object(at place, o, l, d map[string]any) (map[string]any, bool) {
	out, differs := o, false
	for name, want := range d {
		field := at.in(name)
		if want == nil && !field.nullable() || o[name] == nil && (want == nil || at.schema.Drops(name)) {
			continue
		}
		value, changed := m.value(field, o[name], l[name], want)
		if !changed {
			continue
		}
		if !differs {
			out, differs = jsonvalue.Clone(o), true
		}
		out[name] = value
	}
	if gone := m.removed(at, o, l, d); len(gone) > 0 {
		if !differs {
			out = jsonvalue.Clone(o)
		}
		out, differs = jsonvalue.Without(out, gone...)
	}
	if m.exact && surplus(at, o, d) {
		return d, true
	}
	if differs && at.schema != nil && at.schema.Retains {
		out = retained(out, d)
	}
	return out, differs
}

// whole merges objects that are one value each: d takes the place of o, unless o is
// d with what the API server has filled in.
func (m merger) whole(at place, o, l, d map[string]any) (map[string]any, bool) {
	part := merger{settled: m.settled, exact: true}
	if _, differs := part.object(at, o, l, d); differs {
		return d, true
	}
	return o, false
}

// surplus reports whether o has fields that were not asked for, and that the schema does
// not name, so that they can't be there by default.
func surplus(at place, o, d map[string]any) bool {
	if growing[at.field] {
		return false
	}
	for name, value := range o {
		if value == nil || d[name] != nil {
			continue
		}
		if at.schema == nil {
			return true
		}
		if _, named := at.schema.Fields[name]; !named {
			return true
		}
	}
	return false
}

// retained returns the fields of object that are asked for.
func retained(object, d map[string]any) map[string]any {
	var others []string
	for name := range object {
		if d[name] == nil {
			others = append(others, name)
		}
	}
	out, _ := jsonvalue.Without(object, others...)
	return out
}

// removed returns the fields that were asked for, no longer are, and are there.
func (m merger) removed(at place, o, l, d map[string]any) []string {
	if m.settled {
		return nil
	}
	var gone []string
	for name, value := range l {
		_, there := o[name]
		_, wanted := d[name]
		if there && value != nil && d[name] == nil && !(wanted && at.in(name).nullable()) {
			gone = append(gone, name)
		}
	}
	return gone
}

// tolerates reports whether o, which is not d, is how the API server keeps d.
func (m merger) tolerates(at place, o, l, d any) bool {
	if o != nil && jsonvalue.IsZero(d) && allocated[at.field] {
		return true
	}
	if o != nil && !quantified(at) || o == nil && !jsonvalue.IsZero(d) {
		return false
	}
	if !m.settled && !recorded(l, d) {
		return false
	}
	return o == nil || sameQuantity(o, d)
}
