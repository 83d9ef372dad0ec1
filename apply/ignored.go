package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// withoutIgnored returns the child and the observed object as if the hook had no say in the fields that the rule leaves to others, however
// they came to be. To leave a field out is to delete it where it was applied before. There it is desired as it is, if a manager of
// server-side apply may hold it, and otherwise it is left out of what is remembered, too: to write each change by others down would be
// a request that changes nothing.
func (c child) withoutIgnored(observed *unstructured.Unstructured, entries []any) (child, *unstructured.Unstructured, error) {
	if len(c.rule.Ignored) == 0 {
		return c, observed, nil
	}
	desired, last := c.desired.Object, merge.Remembered(observed.Object)
	ours := serverside.EntryOf(entries, c.rule.Managers.Own)
	forgets := false
	for _, path := range c.rule.Ignored {
		now, isSet := valueAt(observed.Object, path)
		switch {
		case !has(desired, path) && !has(last, path) && !ours.Holds(path):
		case isSet && (ours.Holds(path) || c.rule.Strategy == ServerSideApply && (ours == nil || last != nil)):
			desired = withValueAt(desired, path, now)
		default:
			desired = withoutValueAt(desired, path)
			if has(last, path) {
				last, forgets = withoutValueAt(last, path), true
			}
		}
	}
	c.desired = &unstructured.Unstructured{Object: desired}
	if !forgets {
		return c, observed, nil
	}
	observed, err := remembering(observed, last)
	return c, observed, err
}

func has(object map[string]any, path []string) bool {
	_, is := valueAt(object, path)
	return is
}

// valueAt returns the value at a path of fields, and whether there is one.
func valueAt(object map[string]any, path []string) (value any, is bool) {
	for ; len(path) > 1; path = path[1:] {
		object = jsonvalue.ObjectIn(object, path[0])
	}
	value, is = object[path[0]]
	return value, is
}

// withValueAt returns a copy of an object that has a value at a path. Where the object has none of the fields on the way, they are added.
func withValueAt(object map[string]any, path []string, value any) map[string]any {
	if len(path) > 1 {
		value = withValueAt(jsonvalue.ObjectIn(object, path[0]), path[1:], value)
	}
	return jsonvalue.With(object, path[0], value)
}

// withoutValueAt returns a copy of an object without the value at a path, or the object itself if it has none.
func withoutValueAt(object map[string]any, path []string) map[string]any {
	switch {
	case !has(object, path):
		return object
	case len(path) > 1:
		return jsonvalue.With(object, path[0], withoutValueAt(jsonvalue.ObjectIn(object, path[0]), path[1:]))
	}
	without, _ := jsonvalue.Without(object, path[0])
	return without
}
