package scriptcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// objectMethods are methods that all objects of JavaScript have.
var objectMethods = []string{"hasOwnProperty", "toString", "valueOf", "propertyIsEnumerable", "isPrototypeOf", "toLocaleString"}

// member returns the field of a value, and reports one that none of what the value may be can have.
func (w *walker) member(s *engines.OutlineStep, of value) value {
	var found []value
	problem := ""
	all := alternatives(of)
	for _, one := range all {
		w.notifyOf(s, s.Text, one)
		if r, ok := one.(*record); ok && len(all) > 1 && r.lacks(s.Text) {
			continue // As {} does in (parent.status ?? {}).phase.
		}
		v, wrong := w.fieldOf(one, s)
		if wrong == "" {
			found = append(found, v)
		} else {
			problem = wrong
		}
	}
	if len(found) == 0 && problem != "" && !w.fields[s.Text] {
		w.reportf(s.At, "%s", problem)
		return nil
	}
	w.accept(s.At)
	return either(found...)
}

// fieldOf returns a field of a value, or why there is none.
func (w *walker) fieldOf(of value, s *engines.OutlineStep) (value, string) {
	switch of := of.(type) {
	case *typed:
		f, ok := of.field(s.Text)
		isScalar := of.types != 0 && of.types&object == 0
		switch {
		case of.path == "":
			return nil, ""
		case ok:
			return valueOf(f, below(of.path, s.Text)), ""
		case isScalar && s.Text == "length":
			return &typed{shape: &shape{types: integer}}, ""
		case s.Op == engines.OutlineMethod && (isScalar || slices.Contains(objectMethods, s.Text)):
			return nil, ""
		case isScalar:
			return nil, fmt.Sprintf("%s: %s is %s, which has no fields", below(of.path, s.Text), of.path, of.types)
		}
		return nil, of.unknown(below(of.path, s.Text), s.Text)
	case *record:
		if f, ok := of.fields[s.Text]; ok && !w.fields[s.Text] {
			return f.value, ""
		}
	}
	return nil, ""
}

// newer ends the message about a field that may be of a newer Kubernetes.
const newer = ": if your Kubernetes is newer and has it, write its name in brackets"

// unknown returns what is wrong with a name that is none of a field.
func (s *shape) unknown(path, name string) string {
	message := fmt.Sprintf("%s: there is no such field: %s", path, spelling.Hint(name, s.names()))
	if s.isKubernetes && spelling.Nearest(name, s.names()) == "" {
		message += newer
	}
	return message
}

// index returns an element of a list, or a field whose name is a value.
func (w *walker) index(s *engines.OutlineStep, of, key value) value {
	var found []value
	for _, one := range alternatives(of) {
		for _, k := range alternatives(key) {
			found = append(found, w.indexOf(s, one, k))
		}
	}
	return either(found...)
}

func (w *walker) indexOf(s *engines.OutlineStep, of, key value) value {
	name, isName := key.(*literal)
	isName = isName && (name.op == engines.OutlineString || name.op == engines.OutlineNumber)
	if isName {
		w.notifyOf(s, name.text, of)
	}
	switch of := of.(type) {
	case *sequence:
		return elementOf(of)
	case *record:
		if isName && !w.fields[name.text] {
			return of.fields[name.text].value
		}
	case *typed:
		if of.types == list {
			return elementOf(of)
		}
		if !isName {
			if of.types == object && of.rest != nil && len(of.fields) == 0 {
				return &typed{of.rest, of.path + "[]"}
			}
			return nil
		}
		if of.isGroups {
			return &typed{w.kinds.group(name.text), below(of.path, name.text)}
		}
		f, ok := of.field(name.text)
		if ok {
			w.accept(s.At)
			return &typed{f, below(of.path, name.text)}
		}
		if of.isClosed && !w.fields[name.text] {
			w.reportf(s.At, "%s: the definition has no such group: %s", below(of.path, name.text), spelling.Hint(name.text, of.names()))
		}
	}
	return nil
}

// operator reports values that can't be compared or added.
func (w *walker) operator(s *engines.OutlineStep, a, b value) value {
	result := value(&typed{shape: &shape{types: boolean}})
	if s.Op == engines.OutlineSum {
		result = nil
		if t := typesOfValue(a) & typesOfValue(b) & (text | integer | number); t != 0 {
			result = &typed{shape: &shape{types: t}}
		}
	}
	problem := ""
	for _, x := range alternatives(a) {
		for _, y := range alternatives(b) {
			problem = operands(s.Op, x, y)
			if problem == "" {
				problem = operands(s.Op, y, x)
			}
			if problem == "" {
				w.accept(s.At)
				return result
			}
		}
	}
	w.reportf(s.At, "%s", problem)
	return result
}

// operands returns what is wrong with an operator's values, of which the first is of a schema.
func operands(op engines.OutlineOp, a, b value) string {
	t, ok := a.(*typed)
	if !ok || t.path == "" {
		return ""
	}
	other := typesOfValue(b)
	word, isWord := b.(*literal)
	switch {
	case !t.types.accepts(other) && op == engines.OutlineSum:
		return fmt.Sprintf("%s is %s, which does not go with %s", t.path, t.types, other)
	case !t.types.accepts(other) && op == engines.OutlineStrict:
		return fmt.Sprintf("%s is %s, which never equals %s", t.path, t.types, other)
	case op != engines.OutlineSum && isWord && word.op == engines.OutlineString && word.text != "" && t.lacks(word.text):
		return fmt.Sprintf("%s never is %q: %s", t.path, word.text, spelling.Hint(word.text, t.enum))
	}
	return ""
}

// lacks reports whether a text is not one of the values that a shape has.
func (s *shape) lacks(word string) bool { return len(s.enum) > 0 && !slices.Contains(s.enum, word) }

// answer reports what is wrong with a value in an answer that is to be of a shape. at is where it stands.
func (w *walker) answer(v value, s *shape, path string, at engines.Location) {
	if w.left--; s == nil || w.left < 0 || s.types == 0 {
		return
	}
	for _, one := range alternatives(v) {
		if have := typesOfValue(one); !s.types.accepts(have) {
			w.reportf(at, "%s must be %s, and is %s", path, s.types, have)
			continue
		}
		switch one := one.(type) {
		case *literal:
			if one.op == engines.OutlineString && s.lacks(one.text) {
				w.reportf(cmp.Or(one.at, at), "%s can't be %q: %s", path, one.text, spelling.Hint(one.text, s.enum))
			}
		case *sequence:
			for _, element := range one.elements {
				place := at
				if r, ok := element.(*record); ok && r.at.Line > 0 {
					place = r.at
				}
				w.answer(element, s.items, path+"[]", place)
				w.answerKind(element, s)
			}
		case *record:
			w.answerFields(one, s, path)
		}
	}
}

// answerKind reports an object of a list in an answer that is of none of the definition's kinds, or that must name its namespace.
func (w *walker) answerKind(v value, s *shape) {
	for _, one := range alternatives(v) {
		r, ok := one.(*record)
		if !ok || s.among == nil {
			continue
		}
		apiVersion, kind, at := r.string("apiVersion"), r.string("kind"), r.fields["kind"].at
		name := kind + "." + apiVersion
		if _, declared := s.among.fields[name]; declared || s.among.isOpen {
			w.accept(at)
		} else if apiVersion != "" && kind != "" {
			w.reportf(at, "the definition does not list the resource of %s, and the host refuses the answer: %s", name, spelling.Hint(name, s.among.names()))
		}
		place := r.fields["metadata"]
		metadata, isRecord := place.value.(*record)
		if _, placed := s.placed.fields[name]; placed && isRecord && metadata.lacks("namespace") {
			w.reportf(place.at, "%s is in a namespace, and the parent in none: set metadata.namespace", kind)
		} else {
			w.accept(place.at)
		}
	}
}

// answerFields reports what is wrong with the fields of an object in an answer.
func (w *walker) answerFields(r *record, s *shape, path string) {
	for _, name := range r.names {
		f := r.fields[name]
		w.notify(f.at, name, path, s)
		if w.fields[name] {
			continue
		}
		at, ok := s.field(name)
		inner := below(path, name)
		if !ok {
			w.reportf(f.at, "%s", s.unknown(inner, name))
			continue
		}
		w.answer(f.value, at, inner, f.at)
	}
}

// accept notes that a place is right in some way.
func (w *walker) accept(at engines.Location) { w.note(at, "") }

// reportf notes what is wrong with a place, unless it is right in another way.
func (w *walker) reportf(at engines.Location, format string, args ...any) {
	w.note(at, strings.TrimSuffix(fmt.Sprintf(format, args...), ": "))
}

func (w *walker) note(at engines.Location, problem string) {
	place, own := w.locate(at)
	if at.Line == 0 || w.silent || !own {
		return
	}
	if before, known := w.places[place]; !known || before != "" {
		w.places[place] = problem
	}
}
