package engines

import (
	"slices"
	"strings"
)

// ReadSet is what a program looked at in a request, as sorted paths. Nil means unknown: everything may matter. An
// empty set that is not nil means nothing.
//
// A path is a field of the request, such as "children". Of the fields parent and object it is a field of
// them, such as "parent.spec", and of their metadata a field of that, such as "parent.metadata.labels".
// A path stands for all that is below it: "parent" means that the program took the whole parent, or
// looked which fields it has. A field that the program asked for and that was absent is in the set as well.
type ReadSet []string

// Contains reports whether the value at path may have mattered: the set has the path, or one above or below it.
func (s ReadSet) Contains(path string) bool {
	if s == nil {
		return true
	}
	return slices.ContainsFunc(s, func(read string) bool { return read == path || isBelow(read, path) || isBelow(path, read) })
}

// Union returns what is in s, in other, or in both.
func (s ReadSet) Union(other ReadSet) ReadSet {
	if s == nil || other == nil {
		return nil
	}
	all := make(ReadSet, 0, len(s)+len(other))
	all = append(append(all, s...), other...)
	return all.compact()
}

// compact sorts the set, and drops paths that are there twice or below another one.
func (s ReadSet) compact() ReadSet {
	slices.Sort(s)
	kept := s[:0]
	for _, path := range s {
		isCovered := func(above string) bool { return above == path || isBelow(path, above) }
		if !slices.ContainsFunc(kept, isCovered) {
			kept = append(kept, path)
		}
	}
	return kept
}

// isBelow reports whether path is of a part of what above is the path of.
func isBelow(path, above string) bool {
	return len(path) > len(above) && path[len(above)] == '.' && strings.HasPrefix(path, above)
}

// maxReads is how many fields of an object Reads notes, and maxReadName how long their names may be. A program
// that asks for more is taken to read all of it.
const maxReads, maxReadName = 64, 256

// Reads notes what one call reads of an object of its request. Its methods do nothing on nil, which stands for an
// object of which a field more or less makes no difference. It is used by one goroutine.
type Reads struct {
	path   string // of the object, or empty for the request
	all    bool
	fields []string
	few    [4]string // what fields has at first
	parts  *Reads    // of fields, each followed by its next
	next   *Reads
}

// Field notes that a program looks at the value of a field, which may be absent. If value is
// an object of which reads are noted field by field, it notes nothing yet and returns its Reads. That there is such an
// object is nothing that may change: the parent has always metadata.
func (r *Reads) Field(name string, value any) *Reads {
	if r == nil {
		return nil
	}
	if path := r.pathOfPart(name); path != "" {
		if _, ok := value.(map[string]any); ok {
			return r.part(path)
		}
	}
	r.note(name)
	return nil
}

// pathOfPart returns the path of a field that is noted field by field, or the empty string.
func (r *Reads) pathOfPart(name string) string {
	switch {
	case r.path == "" && (name == "parent" || name == "object"):
		return name
	case name != "metadata":
		return ""
	case r.path == "parent":
		return "parent.metadata"
	case r.path == "object":
		return "object.metadata"
	default:
		return ""
	}
}

func (r *Reads) part(path string) *Reads {
	for part := r.parts; part != nil; part = part.next {
		if part.path == path {
			return part
		}
	}
	r.parts = &Reads{path: path, next: r.parts}
	return r.parts
}

// All notes that a program looks at all fields, or which there are.
func (r *Reads) All() {
	if r != nil {
		r.all = true
	}
}

func (r *Reads) note(name string) {
	if r.all || slices.Contains(r.fields, name) {
		return
	}
	if len(r.fields) == maxReads || len(name) > maxReadName {
		r.all = true
		return
	}
	if r.fields == nil {
		r.fields = r.few[:0]
	}
	r.fields = append(r.fields, name)
}

// Set returns what was read of the request.
func (r *Reads) Set() ReadSet {
	if r == nil || r.all && r.path == "" {
		return nil
	}
	return r.appendTo(make(ReadSet, 0, r.count())).compact()
}

// count returns how many paths appendTo appends at most.
func (r *Reads) count() int {
	n := len(r.fields) + 1
	for part := r.parts; part != nil; part = part.next {
		n += part.count()
	}
	return n
}

func (r *Reads) appendTo(set ReadSet) ReadSet {
	if r.all {
		return append(set, r.path)
	}
	for _, field := range r.fields {
		set = append(set, join(r.path, field))
	}
	for part := r.parts; part != nil; part = part.next {
		set = part.appendTo(set)
	}
	return set
}

func join(path, field string) string {
	if path == "" {
		return field
	}
	return path + "." + field
}
