package scriptcheck

import (
	"maps"
	"slices"
	"strconv"

	"github.com/libretto-k8s/libretto/engines"
)

// value is what is known of a value of a script: nil for nothing, *typed, *literal, *record, *sequence, *closure or choice.
type value any

// typed is a value of a shape, with where it comes from, such as parent.spec, for messages.
type typed struct {
	*shape
	path string
}

// valueOf returns a value of a shape.
func valueOf(s *shape, path string) value {
	if len(s.oneOf) == 0 {
		return &typed{s, path}
	}
	var all []value
	for _, one := range s.oneOf {
		all = append(all, &typed{one, path})
	}
	return either(all...)
}

// literal is a string, number, boolean or null that stands in the script.
type literal struct {
	op   engines.OutlineOp
	text string
	at   engines.Location
}

// record is an object that the script makes.
type record struct {
	fields map[string]field
	names  []string // in the order in which they stand
	// isOpen is set if it may have more fields.
	isOpen bool
	at     engines.Location
}

type field struct {
	value value
	at    engines.Location
	// extends is set if the value is merged with that of an object that is extended.
	extends bool
}

// sequence is a list that the script makes, of which elements may be in any order and number.
type sequence struct {
	elements []value
	at       engines.Location
}

const (
	// maxElements bounds how many elements of a list are known, and maxText about how long a text that is put together.
	maxElements, maxText = 256, 256
)

func newSequence(elements []value, at engines.Location) *sequence {
	if len(elements) > maxElements {
		elements = append(elements[:maxElements:maxElements], nil)
	}
	return &sequence{elements: elements, at: at}
}

// closure is a function and the scope that it is in.
type closure struct {
	step  *engines.OutlineStep
	scope *scope
}

// choice is one of several values.
type choice []value

// scope holds the variables around a step.
type scope struct {
	outer     *scope
	variables map[string]value
}

func (s *scope) lookup(name string) value {
	for ; s != nil; s = s.outer {
		if v, ok := s.variables[name]; ok {
			return v
		}
	}
	return nil
}

// either returns one of some values, of which nothing is known if it is not of one of them.
func either(values ...value) value {
	var all choice
	var null value
	for _, v := range values {
		switch v := v.(type) {
		case nil:
			return nil
		case choice:
			all = append(all, v...)
		case *literal:
			if v.op == engines.OutlineNull {
				null = v
			} else {
				all = append(all, v)
			}
		default:
			all = append(all, v)
		}
	}
	switch {
	case len(all) == 1:
		return all[0]
	case len(all) == 0:
		return null
	case len(all) > maxChoices:
		return nil
	}
	return all
}

// alternatives returns what a value may be.
func alternatives(v value) []value {
	if c, ok := v.(choice); ok {
		return c
	}
	return []value{v}
}

// typesOfValue returns the types that a value may have, none if nothing is known.
func typesOfValue(v value) types {
	switch v := v.(type) {
	case *typed:
		return v.types
	case *literal:
		return v.types()
	case *record:
		return object
	case *sequence:
		return list
	default:
		return 0
	}
}

func (l *literal) types() types {
	switch l.op {
	case engines.OutlineString:
		return text
	case engines.OutlineBool:
		return boolean
	case engines.OutlineNumber:
		if f, err := strconv.ParseFloat(l.text, 64); err == nil && f != float64(int64(f)) {
			return number
		}
		return integer
	}
	return 0
}

// elementOf returns any element of a list, or the value of any field of an object.
func elementOf(v value) value {
	var all []value
	switch v := v.(type) {
	case *typed:
		if v.types == list && v.items != nil {
			return &typed{v.items, v.path + "[]"}
		}
		if v.types != object || v.isOpen {
			return nil
		}
		for _, name := range slices.Sorted(maps.Keys(v.fields)) {
			all = append(all, &typed{v.fields[name], below(v.path, name)})
		}
		if v.rest != nil {
			all = append(all, &typed{v.rest, v.path + "[]"})
		}
	case *sequence:
		all = v.elements
	case *record:
		if v.isOpen {
			return nil
		}
		for _, name := range v.names {
			all = append(all, v.fields[name].value)
		}
	case choice:
		for _, one := range v {
			if element := elementOf(one); element != empty {
				all = append(all, element)
			}
		}
	default:
		return nil
	}
	if len(all) == 0 {
		return empty
	}
	return either(all...)
}

// empty is the element of a list without any.
var empty value = &literal{op: engines.OutlineNull}

// merge returns a record with the fields of both, in which those of b win. A value that is no record leaves it open.
func merge(a, b value, at engines.Location) *record {
	out := &record{fields: map[string]field{}, at: at}
	for _, v := range []value{a, b} {
		for _, one := range alternatives(v) {
			r, ok := one.(*record)
			if !ok && isNothing(one) {
				continue
			}
			if !ok || r.isOpen {
				out.obscure()
			}
			if !ok {
				continue
			}
			for _, name := range r.names {
				out.add(name, r.fields[name])
			}
		}
	}
	return out
}

// sum returns an object with the fields of two, a list with the elements of two, or a text of two.
func sum(a, b value, at engines.Location) value {
	word, ok := a.(*literal)
	more, also := b.(*literal)
	if ok && also && word.op == engines.OutlineString && more.op == engines.OutlineString && len(word.text) < maxText {
		return &literal{word.op, word.text + more.text, at}
	}
	_, isRecord := a.(*record)
	_, extends := b.(*record)
	switch both := typesOfValue(a) | typesOfValue(b); {
	case typesOfValue(a) == text || typesOfValue(b) == text:
		return &typed{shape: &shape{types: text}}
	case isRecord || extends:
		return merge(a, b, at)
	case both&list != 0:
		return newSequence(append(elementsOf(a), elementsOf(b)...), at)
	}
	return nil
}

// elementsOf returns the elements of a list.
func elementsOf(v value) []value {
	if s, ok := v.(*sequence); ok {
		return slices.Clone(s.elements)
	}
	return []value{elementOf(v)}
}

// isNothing reports whether a value has no fields to spread.
func isNothing(v value) bool {
	l, ok := v.(*literal)
	return ok && (l.op == engines.OutlineNull || l.op == engines.OutlineBool)
}

// obscure notes that fields of any names are added, which may replace those that are there. The kind stays: nothing would be known without.
func (r *record) obscure() {
	r.isOpen = true
	for _, name := range r.names {
		if f := r.fields[name]; name != "apiVersion" && name != "kind" {
			f.value = nil
			r.fields[name] = f
		}
	}
}

func (r *record) add(name string, f field) {
	before, ok := r.fields[name]
	if !ok {
		r.names = append(r.names, name)
	}
	if ok && f.extends {
		f = field{value: sum(before.value, f.value, f.at), at: before.at, extends: before.extends}
	}
	r.fields[name] = f
}

// lacks reports whether a record can't have a field.
func (r *record) lacks(name string) bool {
	_, has := r.fields[name]
	return !has && !r.isOpen
}

// string returns the literal text of a field, or "".
func (r *record) string(name string) string {
	if l, ok := r.fields[name].value.(*literal); ok && l.op == engines.OutlineString {
		return l.text
	}
	return ""
}
