package jsonvalue

import (
	"maps"
	"slices"
	"strings"
)

// Without returns object less some fields, which is object itself if it has none of them.
func Without(object map[string]any, fields ...string) (out map[string]any, differs bool) {
	out = object
	for _, f := range fields {
		if _, has := object[f]; !has {
			continue
		}
		if !differs {
			out, differs = Clone(object), true
		}
		delete(out, f)
	}
	return out, differs
}

// With returns a copy of object that has value in a field.
func With(object map[string]any, field string, value any) map[string]any {
	out := Clone(object)
	out[field] = value
	return out
}

// Clone returns a copy that can be changed at its top level.
func Clone(object map[string]any) map[string]any {
	out := make(map[string]any, len(object)+1)
	maps.Copy(out, object)
	return out
}

// Map returns a copy of a value in which edit has replaced it, or else what is in it. edit returns the value itself, or another one that is
// walked through, unless it is done.
func Map(value any, edit func(any) (next any, done bool)) any {
	value, done := edit(value)
	if done {
		return value
	}
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			out[name] = Map(field, edit)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = Map(item, edit)
		}
		return out
	}
	return value
}

// MapStrings returns a copy of a value with other strings.
func MapStrings(value any, edit func(string) string) any {
	return Map(value, func(v any) (any, bool) {
		if text, is := v.(string); is {
			return edit(text), true
		}
		return v, false
	})
}

// MergePatch returns target with a merge patch (RFC 7386) applied.
func MergePatch(target, patch map[string]any) map[string]any {
	out := Clone(target)
	for name, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(out, name)
		case isObject:
			out[name] = MergePatch(ObjectIn(out, name), fields)
		default:
			out[name] = value
		}
	}
	return out
}

// SplitPaths returns the paths of fields that are written with dots, such as spec.template.
func SplitPaths(fieldPaths []string) [][]string {
	paths := make([][]string, len(fieldPaths))
	for i, path := range fieldPaths {
		paths[i] = strings.Split(path, ".")
	}
	return paths
}

// WithValueAt returns a copy of object that has value at a path of fields, which are made where there are none. All else is shared.
func WithValueAt(object map[string]any, path []string, value any) map[string]any {
	if len(path) > 1 {
		value = WithValueAt(ObjectIn(object, path[0]), path[1:], value)
	}
	return With(object, path[0], value)
}

// WithoutValueAt returns object less the value at a path of fields, which is object itself if it has none.
func WithoutValueAt(object map[string]any, path []string) (out map[string]any, differs bool) {
	if len(path) == 1 {
		return Without(object, path[0])
	}
	inner, differs := WithoutValueAt(ObjectIn(object, path[0]), path[1:])
	if !differs {
		return object, false
	}
	return With(object, path[0], inner), true
}

// ObjectIn returns the object in a field, or nil if there is none.
func ObjectIn(object map[string]any, field string) map[string]any {
	in, _ := object[field].(map[string]any)
	return in
}

// AsObject returns a value that is an object, or nil.
func AsObject(item any) map[string]any {
	object, _ := item.(map[string]any)
	return object
}

// At returns the item at a position, or nil if there is none.
func At(list []any, i int) any {
	if i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}

// Contains reports whether a list has an equal value.
func Contains(list []any, v any) bool {
	return slices.ContainsFunc(list, func(other any) bool { return Equal(v, other) })
}

// IsSecret reports whether object is a Secret of the core group.
func IsSecret(object map[string]any) bool {
	return object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

// WithoutNulls returns a value without the fields that are null, which is the value itself
// if there are none.
func WithoutNulls(v any) (out any, differs bool) {
	switch v := v.(type) {
	case map[string]any:
		return FieldsWithoutNulls(v)
	case []any:
		list := v
		for i, item := range v {
			kept, changed := WithoutNulls(item)
			if !changed {
				continue
			}
			if !differs {
				list, differs = slices.Clone(v), true
			}
			list[i] = kept
		}
		return list, differs
	}
	return v, false
}

// FieldsWithoutNulls returns an object without the nulls in its fields, and whether that differs from it.
func FieldsWithoutNulls(object map[string]any) (out map[string]any, differs bool) {
	out = object
	for name, field := range object {
		kept, changed := WithoutNulls(field)
		if field != nil && !changed {
			continue
		}
		if !differs {
			out, differs = Clone(object), true
		}
		if out[name] = kept; field == nil {
			delete(out, name)
		}
	}
	return out, differs
}

// Conditions returns those of an object's status.
func Conditions(object map[string]any) []map[string]any {
	list, _ := ObjectIn(object, "status")["conditions"].([]any)
	var all []map[string]any
	for _, item := range list {
		if fields := AsObject(item); fields != nil {
			all = append(all, fields)
		}
	}
	return all
}

// Condition returns the condition of a type in an object's status, or nil.
func Condition(object map[string]any, kind string) map[string]any {
	list, _ := ObjectIn(object, "status")["conditions"].([]any)
	for _, item := range list {
		if fields := AsObject(item); fields["type"] == kind {
			return fields
		}
	}
	return nil
}
