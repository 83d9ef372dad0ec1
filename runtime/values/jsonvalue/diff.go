package jsonvalue

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Differ finds the places at which two JSON values differ.
type Differ struct {
	// Match pairs the items of two lists. Those of lists that it does not know are compared
	// by position.
	Match func(a, b []any) (pairs []Pair, ok bool)
	// Absent stands for a field or an item that is not there. If it is nil, null is as good
	// as absent.
	Absent any
	// Found is called for each place. The path is valid during the call.
	Found func(path Path, a, b any)
}

// Pair is two items of lists that stand for the same thing. One of them may be absent.
type Pair struct {
	Name string
	A, B any
}

// Step leads from a value to one of its fields or items, which are A and B.
type Step struct {
	Pair
	Item bool
}

// Path leads to a place.
type Path []Step

// Compare calls Found for each place at which a and b differ. Fields are in alphabetical order.
func (d Differ) Compare(a, b any) { d.values(nil, a, b) }

func (d Differ) values(path Path, a, b any) {
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			d.fields(path, x, y)
			return
		}
	case []any:
		if y, ok := b.([]any); ok {
			d.items(path, x, y)
			return
		}
	}
	if !Equal(a, b) {
		d.Found(path, a, b)
	}
}

func (d Differ) fields(path Path, a, b map[string]any) {
	if reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() {
		return
	}
	names := make([]string, 0, len(a))
	for name, value := range a {
		if other, ok := b[name]; !ok || !areSameScalars(value, other) {
			names = append(names, name)
		}
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			names = append(names, name)
		}
	}
	in := func(object map[string]any, name string) any {
		if value, ok := object[name]; ok {
			return value
		}
		return d.Absent
	}
	slices.Sort(names)
	for _, name := range names {
		d.step(path, Step{Pair: Pair{Name: name, A: in(a, name), B: in(b, name)}})
	}
}

// areSameScalars reports whether two values are the same and hold no others. It reports false for some that are Equal.
func areSameScalars(a, b any) bool {
	switch a.(type) {
	case map[string]any, []any:
		return false
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

func (d Differ) items(path Path, a, b []any) {
	pairs, ok := d.Match(a, b)
	if !ok {
		at := func(list []any, i int) any {
			if i < len(list) {
				return list[i]
			}
			return d.Absent
		}
		for i := range max(len(a), len(b)) {
			pairs = append(pairs, Pair{Name: strconv.Itoa(i), A: at(a, i), B: at(b, i)})
		}
	}
	for _, p := range pairs {
		d.step(path, Step{Pair: p, Item: true})
	}
}

func (d Differ) step(path Path, s Step) { d.values(append(path, s), s.A, s.B) }

// InSecret reports whether the path leads into a Secret.
func (p Path) InSecret() bool {
	for i, s := range p {
		if i < len(p)-1 && (IsSecret(AsObject(s.A)) || IsSecret(AsObject(s.B))) {
			return true
		}
	}
	return false
}

// InObjects reports whether secret does of some object that the path goes through, with its apiVersion and kind and the rest of the path.
func (p Path) InObjects(secret func(apiVersion, kind string, path Path) bool) bool {
	for i, step := range p {
		for _, value := range []any{step.A, step.B} {
			object := AsObject(value)
			apiVersion, _ := object["apiVersion"].(string)
			if kind, _ := object["kind"].(string); kind != "" && secret(apiVersion, kind, p[i+1:]) {
				return true
			}
		}
	}
	return false
}

// String returns a path such as spec.ports[port=53].name.
func (p Path) String() string {
	var text strings.Builder
	for i, s := range p {
		switch {
		case s.Item:
			text.WriteString("[" + s.Name + "]")
		case strings.ContainsAny(s.Name, ".[]/ ") || s.Name == "":
			text.WriteString("[" + strconv.Quote(s.Name) + "]")
		case i > 0:
			text.WriteString("." + s.Name)
		default:
			text.WriteString(s.Name)
		}
	}
	return text.String()
}
