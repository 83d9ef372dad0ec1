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
		now, isSet, _ := unstructured.NestedFieldNoCopy(observed.Object, path...)
		switch {
		case !has(desired, path) && !has(last, path) && !ours.Holds(path):
		case isSet && (ours.Holds(path) || c.rule.Strategy == ServerSideApply && (ours == nil || last != nil)):
			desired = jsonvalue.WithValueAt(desired, path, now)
		default:
			var forgotten bool
			desired, _ = jsonvalue.WithoutValueAt(desired, path)
			last, forgotten = jsonvalue.WithoutValueAt(last, path)
			forgets = forgets || forgotten
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
	_, is, _ := unstructured.NestedFieldNoCopy(object, path...)
	return is
}
