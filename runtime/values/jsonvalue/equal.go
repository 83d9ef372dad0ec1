// Package jsonvalue compares, hashes and edits JSON values as apimachinery decodes them: nil, bool,
// int64, float64, string, []any and map[string]any. Values are never changed: what is edited is a
// copy that shares all else.
package jsonvalue

import (
	"math"
	"reflect"
)

// Equal reports whether the API would take two JSON values for the same: a field
// that is null is as good as none, and 1 is 1.0.
func Equal(a, b any) bool { return EqualFunc(a, b, EqualScalars) }

// EqualFunc is Equal with another comparison of scalars. It walks through a and b and hands what is no pair of objects and no pair
// of lists to leaves.
func EqualFunc(a, b any, leaves func(a, b any) bool) bool {
	switch a := a.(type) {
	case map[string]any:
		if b, ok := b.(map[string]any); ok {
			return compareObjects(a, b, leaves)
		}
	case []any:
		if b, ok := b.([]any); ok {
			return EqualLists(a, b, leaves)
		}
	}
	return leaves(a, b)
}

func compareObjects(a, b map[string]any, leaves func(a, b any) bool) bool {
	surplus := 0
	for _, value := range b {
		if value != nil {
			surplus++
		}
	}
	for name, value := range a {
		if value == nil {
			continue
		}
		if other := b[name]; other == nil || !EqualFunc(value, other, leaves) {
			return false
		}
		surplus--
	}
	return surplus == 0
}

// EqualLists reports whether two lists are equal by EqualFunc.
func EqualLists(a, b []any, leaves func(a, b any) bool) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !EqualFunc(a[i], b[i], leaves) {
			return false
		}
	}
	return true
}

// EqualScalars compares two leaves.
func EqualScalars(a, b any) bool {
	switch a := a.(type) {
	case nil:
		return b == nil
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case int64, float64, int, int32:
		return sameNumber(a, b)
	}
	return reflect.DeepEqual(a, b)
}

// sameNumber compares numbers by value, without loss.
func sameNumber(a, b any) bool {
	i, aInt := Integer(a)
	j, bInt := Integer(b)
	if aInt || bInt {
		return aInt && bInt && i == j
	}
	f, aFloat := a.(float64)
	g, bFloat := b.(float64)
	return aFloat && bFloat && f == g
}

// Integer returns the whole number that v is, of whatever type.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case int:
		return int64(v), true
	case int32:
		return int64(v), true
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1<<63 {
			return int64(v), true
		}
	}
	return 0, false
}

// IsZero reports whether v means the same as its absence: null,
// false, 0, "", an empty list, or an object of nothing else.
func IsZero(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case string:
		return v == ""
	case bool:
		return !v
	case []any:
		return len(v) == 0
	case map[string]any:
		for _, field := range v {
			if !IsZero(field) {
				return false
			}
		}
		return true
	}
	i, whole := Integer(v)
	return whole && i == 0
}
