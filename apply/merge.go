package apply

// merger merges what was observed (o), what was asked for last time (l) and what
// is desired (d). In all three, null is as good as absent.
//
// Its methods say whether the result differs from o; if not, the result is o. A
// result that differs shares with o and d whatever it can.
//
// Two thoughts run through it. What was asked for last time and is no longer
// desired is removed, and everything else that is observed stays. And what was
// asked for last time in the very same words, and was then written down by the API
// server in other words, is no difference: to ask again would change nothing.
type merger struct {
	// settled says that l is d everywhere.
	settled bool
}

// place is where a value stands: its field, and the field of the object around it.
type place struct{ parent, field string }

// value merges any values.
func (m merger) value(at place, o, l, d any) (any, bool) {
	if text, ok := l.(string); ok && digestOf(text, d) {
		l = d
	}
	switch d := d.(type) {
	case map[string]any:
		if o, ok := o.(map[string]any); ok {
			l, _ := l.(map[string]any)
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
	if same(o, d) || m.tolerates(at, o, l, d) {
		return o, false
	}
	return d, true
}

// object merges field by field.
func (m merger) object(at place, o, l, d map[string]any) (map[string]any, bool) {
	out, differs := o, false
	for name, want := range d {
		if want == nil {
			continue
		}
		value, changed := m.value(place{at.field, name}, o[name], l[name], want)
		if !changed {
			continue
		}
		if !differs {
			out, differs = fork(o), true
		}
		out[name] = value
	}
	if gone := m.removed(o, l, d); len(gone) > 0 {
		if !differs {
			out = fork(o)
		}
		out, differs = without(out, gone...)
	}
	return out, differs
}

// removed returns the fields that were asked for, no longer are, and are there.
func (m merger) removed(o, l, d map[string]any) []string {
	if m.settled {
		return nil
	}
	var gone []string
	for name, value := range l {
		if _, there := o[name]; there && value != nil && d[name] == nil {
			gone = append(gone, name)
		}
	}
	return gone
}

// tolerates reports whether o, which is not d, is how the API server keeps d.
func (m merger) tolerates(at place, o, l, d any) bool {
	if o != nil && vacuous(d) && allocated[at.field] {
		return true
	}
	if o != nil && !quantified(at) || o == nil && !vacuous(d) {
		return false
	}
	if !m.settled && !recorded(l, d) {
		return false
	}
	return o == nil || sameQuantity(o, d)
}
