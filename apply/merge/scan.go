package merge

import (
	"math"
	"strconv"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// records reports whether text is desired, written as encode writes it. It reads
// text beside desired, so that nothing is decoded and hardly anything allocated;
// a true answer is certain, and a false one only means that a closer look is
// needed, because text differs or is written in another way.
func records(text string, desired map[string]any) bool {
	s := scanner{rest: text}
	return s.object(desired, root) && s.rest == ""
}

// scanner reads JSON from the front.
type scanner struct{ rest string }

// level tells the objects apart in which some fields are not managed.
type level int

const (
	inner level = iota
	root
	metadata
)

// value reads a value that should be want.
func (s *scanner) value(want any, at level) bool {
	if strings.HasPrefix(s.rest, `"`) {
		quoted, escaped, ok := s.quoted()
		if !ok || escaped && objectjson.IsEncoding(quoted, want) {
			return ok
		}
		text, ok := unquote(quoted, escaped)
		return ok && sameText(text, want)
	}
	switch want := want.(type) {
	case map[string]any:
		return s.object(want, at)
	case []any:
		return s.list(want)
	case nil:
		return s.token("null")
	case bool:
		return s.token(strconv.FormatBool(want))
	case int64:
		return s.number(strconv.AppendInt(make([]byte, 0, 20), want, 10))
	case float64:
		return math.Abs(want) < 1e15 && math.Abs(want) >= 1e-6 &&
			s.number(strconv.AppendFloat(make([]byte, 0, 32), want, 'f', -1, 64))
	}
	return false
}

// object reads an object that has the fields of want in alphabetical order, but
// for those that are null. Fields that are not managed may be there if they are
// null or empty, as they are in what Go programs write.
func (s *scanner) object(want map[string]any, at level) bool {
	if !s.token("{") {
		return false
	}
	missing, last := present(want), ""
	for first := true; !s.token("}"); first = false {
		name, ok := s.field(first)
		if !ok || !first && name <= last {
			return false
		}
		last = name
		value := want[name]
		if value == nil && at.skips(name) && s.empty() {
			continue
		}
		if !s.value(value, at.below(name)) {
			return false
		}
		if value != nil {
			missing--
		}
	}
	return missing == 0
}

// present counts the fields that are not null.
func present(object map[string]any) int {
	n := 0
	for _, value := range object {
		if value != nil {
			n++
		}
	}
	return n
}

// list reads a list of the items of want.
func (s *scanner) list(want []any) bool {
	if !s.token("[") {
		return false
	}
	for i, item := range want {
		if i > 0 && !s.token(",") || !s.value(item, inner) {
			return false
		}
	}
	return s.token("]")
}

// field reads the name of a field and what separates it from its neighbours.
func (s *scanner) field(first bool) (string, bool) {
	if !first && !s.token(",") {
		return "", false
	}
	name, ok := s.str()
	return name, ok && s.token(":")
}

// empty reads a null or an empty object.
func (s *scanner) empty() bool { return s.token("null") || s.token("{}") }

// token reads exactly t.
func (s *scanner) token(t string) bool {
	rest, ok := strings.CutPrefix(s.rest, t)
	s.rest = rest
	return ok
}

// number reads exactly digits, and no more digits after them.
func (s *scanner) number(digits []byte) bool {
	n := len(digits)
	if len(s.rest) < n || s.rest[:n] != string(digits) {
		return false
	}
	s.rest = s.rest[n:]
	return s.rest == "" || strings.IndexByte(",]}", s.rest[0]) >= 0
}

// str reads a string.
func (s *scanner) str() (string, bool) {
	quoted, escaped, ok := s.quoted()
	if !ok {
		return "", false
	}
	return unquote(quoted, escaped)
}

// quoted reads a string and leaves it as it is written.
func (s *scanner) quoted() (quoted string, escaped, ok bool) {
	if !strings.HasPrefix(s.rest, `"`) {
		return "", false, false
	}
	for i := 1; i < len(s.rest); i++ {
		switch c := s.rest[i]; {
		case c == '"':
			quoted, s.rest = s.rest[:i+1], s.rest[i+1:]
			return quoted, escaped, true
		case c == '\\':
			escaped = true
			i++
		case c < ' ':
			return "", false, false
		}
	}
	return "", false, false
}

// unquote returns the text of a quoted string.
func unquote(quoted string, escaped bool) (string, bool) {
	if escaped {
		return objectjson.Unquote(quoted)
	}
	return quoted[1 : len(quoted)-1], true
}

// skips reports whether a field is not managed.
func (l level) skips(name string) bool {
	switch l {
	case root:
		return name == "status"
	case metadata:
		return unmanagedField(name) || name == "annotations"
	}
	return false
}

// below returns the level of an object in a field.
func (l level) below(name string) level {
	if l == root && name == "metadata" {
		return metadata
	}
	return inner
}
