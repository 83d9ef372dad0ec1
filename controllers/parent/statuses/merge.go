package statuses

import (
	"maps"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// ThreeWayMerge returns live with the changes from base to desired, and false if live has
// another change in the same place.
func ThreeWayMerge(base, desired, live map[string]any) (map[string]any, bool) {
	merged := make(map[string]any, len(live))
	maps.Copy(merged, live)
	for _, fields := range []map[string]any{base, desired} {
		for field := range fields {
			value, ok := threeWayMergeValue(base[field], desired[field], live[field])
			switch {
			case !ok:
				return nil, false
			case value == nil:
				delete(merged, field)
			default:
				merged[field] = value
			}
		}
	}
	return merged, true
}

// threeWayMergeValue is ThreeWayMerge for one field. An absent field is nil.
func threeWayMergeValue(base, desired, live any) (any, bool) {
	switch {
	case jsonvalue.Equal(base, desired), jsonvalue.Equal(desired, live):
		return live, true
	case jsonvalue.Equal(base, live):
		return desired, true
	}
	from, _ := base.(map[string]any)
	to, isObject := desired.(map[string]any)
	now, wasObject := live.(map[string]any)
	if !isObject || !wasObject || from == nil && base != nil {
		return nil, false
	}
	return ThreeWayMerge(from, to, now)
}
