package failover

import (
	"maps"
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// difference is a place at which two answers differ.
type difference struct {
	path jsonvalue.Path
	// served and shadow are what is there; absent stands for nothing.
	served, shadow any
}

// absent is the value of a field that is not there.
type absent struct{}

// differences returns all places at which two answers differ in what they ask for,
// sorted. Objects may come in any order, 1 and 1.0 are one number, a field of the
// answer itself that is null is not there, and a list that is null is empty, unless
// the answer waits and has none. No events and an empty list of them are the same.
func differences(served, shadow any) (found []difference) {
	one, ok := served.(map[string]any)
	other, also := shadow.(map[string]any)
	if ok && also {
		served, shadow = withoutNulls(one), withoutNulls(other)
	}
	jsonvalue.Differ{
		Match: matchObjects, Absent: absent{},
		Found: func(path jsonvalue.Path, served, shadow any) {
			found = append(found, difference{path: slices.Clone(path), served: served, shadow: shadow})
		},
	}.Compare(served, shadow)
	return found
}

// matchObjects pairs the objects of two lists by what they are, in the order of their names.
func matchObjects(served, shadow []any) (pairs []jsonvalue.Pair, ok bool) {
	one, ok := named(served)
	other, also := named(shadow)
	if !ok || !also {
		return nil, false
	}
	all := maps.Clone(one)
	maps.Copy(all, other)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		pair := jsonvalue.Pair{Name: name, A: absent{}, B: absent{}}
		if object, is := one[name]; is {
			pair.A = object
		}
		if object, is := other[name]; is {
			pair.B = object
		}
		pairs = append(pairs, pair)
	}
	return pairs, true
}

// lists are the fields of answers that list objects or rules.
var lists = []string{"children", "attachments", "outputs", "relatedResources"}

func withoutNulls(answer map[string]any) map[string]any {
	kept := make(map[string]any, len(answer))
	for field, value := range answer {
		events, isList := value.([]any)
		switch {
		case field == "events" && isList && len(events) == 0:
		case value != nil:
			kept[field] = value
		case slices.Contains(lists, field) && answer["waiting"] == nil:
			kept[field] = []any{}
		}
	}
	return kept
}

// named returns the objects of a list by what they are. It is not ok for a list of
// anything else, and for one that has an object twice.
func named(list []any) (map[string]any, bool) {
	all := make(map[string]any, len(list))
	for _, item := range list {
		object, _ := item.(map[string]any)
		metadata, _ := object["metadata"].(map[string]any)
		name, ok := metadata["name"].(string)
		if !ok {
			return nil, false
		}
		var parts []string
		for _, part := range []any{object["apiVersion"], object["kind"], metadata["namespace"], name} {
			if text, _ := part.(string); text != "" {
				parts = append(parts, text)
			}
		}
		all[strings.Join(parts, "/")] = object
	}
	return all, len(all) == len(list)
}
