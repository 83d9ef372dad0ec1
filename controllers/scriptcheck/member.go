package scriptcheck

import (
	"cmp"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/engines"
)

// Member is a field that a script names, for editors.
type Member struct {
	// At is where the name stands.
	At   engines.Location
	Name string
	// Path is the field of the object that it is of, as in messages, such as parent.spec.
	Path string

	of *shape
}

// Field is a field that an object may have.
type Field struct{ Name, Type, Doc string }

// Names returns the names of the fields of the object.
func (m Member) Names() []string {
	if m.of == nil {
		return nil
	}
	return m.of.names()
}

// Type returns the name of the type that the field is of, if that is one of Go, such as CompositeRequest.
func (m Member) Type() string { return m.of.name }

// Fields returns the fields of the object, sorted.
func (m Member) Fields() []Field {
	var all []Field
	for _, name := range slices.Sorted(maps.Keys(m.of.fields)) {
		all = append(all, m.of.describe(name))
	}
	return all
}

// Field returns the named field, if the object may have it.
func (m Member) Field() (Field, bool) {
	if m.of != nil {
		if f, ok := m.of.field(m.Name); ok && f != anything {
			return m.of.describe(m.Name), true
		}
	}
	return Field{}, false
}

// Values returns the words of the enumeration, if it is one.
func (m Member) Values() []string { return m.of.enum }

func (s *shape) describe(name string) Field {
	f, _ := s.field(name)
	return Field{Name: name, Type: cmp.Or(f.types.String(), "any value"), Doc: s.docs[name]}
}

// At returns what objects of a kind have at the path of a field, in which [] stands for the items of a list. Its name is empty.
func (c *Checker) At(kind schema.GroupVersionKind, path ...string) (Member, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.kinds.ofKind(kind)
	for _, name := range path {
		switch {
		case s == nil:
		case name == "[]":
			s = s.items
		default:
			if f, ok := s.field(name); ok {
				s = f
			} else {
				s = nil
			}
		}
	}
	return Member{of: s}, s != nil
}

// notify calls Checker.Watch, if it is set, with a name.
func (w *walker) notify(at engines.Location, name, path string, of *shape) {
	if w.watch == nil || w.silent {
		return
	}
	if place, own := w.locate(at); own {
		w.watch(Member{At: place, Name: name, Path: path, of: of})
	}
}

// notifyOf does so for a name in a value that may be of a schema.
func (w *walker) notifyOf(s *engines.OutlineStep, name string, of value) {
	if t, ok := of.(*typed); ok {
		w.notify(s.At, name, t.path, t.shape)
	}
}
