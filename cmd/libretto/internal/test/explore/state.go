package explore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// endState is what a path leaves in the cluster, without what differs between two clusters that are equally good.
type endState map[apply.Key]map[string]any

// endStateOf returns the state of objects, which are copies, without what the case ignores.
func endStateOf(objects []*unstructured.Unstructured, ignored ignored) endState {
	uids := map[string]string{}
	for _, object := range objects {
		uids[string(object.GetUID())] = "UID of " + object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
	}
	state := endState{}
	for _, object := range objects {
		if ignored.object(object) {
			continue
		}
		key := apply.KeyOf(object)
		named := jsonvalue.MapStrings(object.Object, func(text string) string { return cmp.Or(uids[text], text) })
		object.Object = jsonvalue.AsObject(named)
		normalize(object.Object)
		ignored.removeFields(key, object)
		state[key] = object.Object
	}
	return state
}

// hash returns a hash of the state.
func (s endState) hash() uint64 {
	var sum uint64
	for key, object := range s {
		sum += jsonvalue.Hash([]any{key.Kind.String(), key.Namespace, key.Name, object})
	}
	return sum
}

// keys returns the keys in order.
func (s endState) keys() []apply.Key { return slices.SortedFunc(maps.Keys(s), compareKeys) }

func compareKeys(a, b apply.Key) int {
	return cmp.Or(cmp.Compare(a.Kind.Kind, b.Kind.Kind), cmp.Compare(a.Kind.Group, b.Kind.Group),
		cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// normalize removes what the API server and the time put into an object: versions, times, and the order of conditions. That an object is
// being deleted stays visible.
func normalize(object map[string]any) {
	metadata := jsonvalue.ObjectIn(object, "metadata")
	for _, field := range []string{
		"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionGracePeriodSeconds", "selfLink",
	} {
		delete(metadata, field)
	}
	if metadata["deletionTimestamp"] != nil {
		metadata["deletionTimestamp"] = "deleted"
	}
	owners, _ := metadata["ownerReferences"].([]any)
	for _, owner := range owners {
		delete(jsonvalue.AsObject(owner), "uid")
	}
	withoutTimes(metadata["annotations"])
	withoutTimes(object["status"])
	sortConditions(jsonvalue.ObjectIn(object, "status"))
}

// withoutTimes removes times and observed generations from a value. It returns nil for a time.
func withoutTimes(value any) any {
	switch v := value.(type) {
	case string:
		if len(v) < len(time.DateOnly)+1 || v[4] != '-' {
			return value
		}
		if _, err := time.Parse(time.RFC3339Nano, v); err == nil {
			return nil
		}
	case map[string]any:
		delete(v, "observedGeneration")
		for name, field := range v {
			if field != nil && withoutTimes(field) == nil {
				delete(v, name)
			}
		}
	case []any:
		for i, item := range v {
			v[i] = withoutTimes(item)
		}
	}
	return value
}

// sortConditions sorts the conditions of a status by type.
func sortConditions(status map[string]any) {
	conditions, _ := status["conditions"].([]any)
	slices.SortStableFunc(conditions, func(a, b any) int {
		typeA, _ := jsonvalue.AsObject(a)["type"].(string)
		typeB, _ := jsonvalue.AsObject(b)["type"].(string)
		return cmp.Compare(typeA, typeB)
	})
}
