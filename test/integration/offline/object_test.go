package offline

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// object is an object as golden files show it.
type object struct {
	kind    memcluster.Resource
	fields  map[string]any
	deleted bool
}

// isExact reports whether the API server adds nothing to objects of a kind.
func (o *object) isExact() bool {
	group := o.kind.Kind.Group
	return o.kind.Kind.Kind == "ConfigMap" || slices.Contains([]string{"example.com", "ctl.example.com", env.Revisions.Group}, group)
}

func (o *object) metadata() map[string]any {
	metadata, _ := o.fields["metadata"].(map[string]any)
	return metadata
}

func (o *object) finalizers() []any {
	list, _ := o.metadata()["finalizers"].([]any)
	return list
}

// owners returns the lines that tell the owners.
func (o *object) owners() []string {
	list, _ := o.metadata()["ownerReferences"].([]any)
	var lines []string
	for _, line := range list {
		lines = append(lines, fmt.Sprint(line))
	}
	return lines
}

// merged returns an object with a merge patch applied.
func merged(target, patch map[string]any) map[string]any {
	next := maps.Clone(target)
	if next == nil {
		next = map[string]any{}
	}
	for name, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(next, name)
		case isObject:
			before, _ := next[name].(map[string]any)
			next[name] = merged(before, fields)
		default:
			next[name] = value
		}
	}
	return next
}

// serverFields are the metadata that a cluster sets, and the names.
var serverFields = []string{
	"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "managedFields",
	"deletionTimestamp", "deletionGracePeriodSeconds",
}

// simplified returns an object as golden files show it, without its status.
func simplified(given *unstructured.Unstructured) map[string]any {
	o := given.DeepCopy()
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(o.Object, name)
	}
	metadata, _ := o.Object["metadata"].(map[string]any)
	for _, name := range serverFields {
		delete(metadata, name)
	}
	unstructured.RemoveNestedField(metadata, "annotations", merge.LastApplied)
	hideOwn(metadata)
	if references, ok := metadata["ownerReferences"].([]any); ok {
		for i, item := range references {
			if r, ok := item.(map[string]any); ok {
				role := map[bool]string{true: "controller", false: "owner"}[r["controller"] == true && r["blockOwnerDeletion"] == true]
				references[i] = fmt.Sprintf("%s %v %v %v", role, r["kind"], r["name"], r["uid"])
			}
		}
	}
	for _, name := range []string{"annotations", "ownerReferences", "finalizers", "labels"} {
		switch value := metadata[name].(type) {
		case map[string]any:
			if len(value) == 0 {
				delete(metadata, name)
			}
		case []any:
			if len(value) == 0 {
				delete(metadata, name)
			}
		}
	}
	if len(metadata) == 0 {
		delete(o.Object, "metadata")
	}
	return decoded(o.Object)
}

// hideOwn hides what differs between clusters: what server-side apply keeps of what it applied last, as it has the UID of the parent in
// it, and when a revision moved.
func hideOwn(metadata map[string]any) {
	annotations, _ := metadata["annotations"].(map[string]any)
	for name := range annotations {
		if strings.HasPrefix(name, "metacontroller.k8s.io/applied.") || name == "metacontroller.k8s.io/moved-at" {
			annotations[name] = "of this cluster"
		}
	}
}

// decoded returns an object as a YAML reader has it, with all numbers floating.
func decoded(fields map[string]any) map[string]any {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	next := map[string]any{}
	if err := json.Unmarshal(text, &next); err != nil {
		panic(err)
	}
	return next
}

// withoutValues returns a Secret with the keys of its values, which golden files hide.
func withoutValues(secret any) any {
	fields, _ := secret.(map[string]any)
	next, keys := maps.Clone(fields), map[string]any{}
	for _, field := range []string{"data", "stringData"} {
		values, _ := fields[field].(map[string]any)
		for key := range values {
			keys[key] = "(hidden)"
		}
		delete(next, field)
	}
	next["data"] = keys
	return next
}

// withUIDs returns an object with other UIDs.
func withUIDs(fields map[string]any, uids map[string]string) map[string]any {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	changed := string(text)
	for _, uid := range slices.Sorted(maps.Keys(uids)) {
		changed = strings.ReplaceAll(changed, uid, uids[uid])
	}
	next := map[string]any{}
	if err := json.Unmarshal([]byte(changed), &next); err != nil {
		panic(err)
	}
	return next
}

// withoutTimes returns a status without the times of conditions.
func withoutTimes(status any) any {
	fields, ok := status.(map[string]any)
	if !ok {
		return status
	}
	fields = maps.Clone(fields)
	if conditions, ok := fields["conditions"].([]any); ok {
		var list []any
		for _, item := range conditions {
			condition, _ := item.(map[string]any)
			condition = maps.Clone(condition)
			delete(condition, "lastTransitionTime")
			list = append(list, condition)
		}
		fields["conditions"] = list
	}
	return fields
}

// common returns of a value what another one has. The API server adds fields, and items at the end of lists.
func common(value, other any) any {
	fields, ok := value.(map[string]any)
	named, both := other.(map[string]any)
	if ok && both {
		has := map[string]any{}
		for name := range named {
			if field, found := fields[name]; found {
				has[name] = common(field, named[name])
			}
		}
		return has
	}
	items, ok := value.([]any)
	others, both := other.([]any)
	if !ok || !both || len(items) < len(others) {
		return value
	}
	list := make([]any, len(others))
	for i := range others {
		list[i] = common(items[i], others[i])
	}
	return list
}
