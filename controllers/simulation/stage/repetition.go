package stage

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// repetition finds out whether a cluster comes back to a state in which it was before, and so never settles.
type repetition struct{ seen map[uint64]int }

// check returns an error if the objects are as after an earlier pass. It is called after passes that changed something.
func (r *repetition) check(step int, objects []*unstructured.Unstructured) error {
	if r.seen == nil {
		r.seen = map[uint64]int{}
	}
	state := make([]any, 0, len(objects))
	for _, object := range objects {
		state = append(state, withoutVersion(object))
	}
	hash := jsonvalue.Fingerprint(state)
	if before, known := r.seen[hash]; known {
		return unsettled("it does not settle: after pass %d everything is as it was after pass %d", step, before)
	}
	r.seen[hash] = step
	return nil
}

// withoutVersion returns an object without what differs between two objects, or two versions of one, that are equal.
func withoutVersion(object *unstructured.Unstructured) map[string]any {
	meta, _ := object.Object["metadata"].(map[string]any)
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields"} {
		delete(meta, field)
	}
	unstructured.RemoveNestedField(object.Object, "status", "observedGeneration")
	for _, condition := range jsonvalue.Conditions(object.Object) {
		delete(condition, "lastTransitionTime")
	}
	return object.Object
}
