package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Again returns the update that the next pass would make, if all that it would change is
// what this one has sent and the API server did not keep, and whether there is such a
// rest, as far as a full outcome tells. As long as the object is as this update left it, sending that has no effect.
func (o Result) Again() (again Change, ok bool) {
	sent := o.Change.Object
	if o.Err != nil || o.Object == nil || o.Partial || o.Change.Action != ActionUpdate || o.Change.ServerSide != nil {
		return Change{}, false
	}
	left := o.Object.Object
	if meta, has := jsonvalue.Without(jsonvalue.ObjectIn(left, "metadata"), "managedFields"); has {
		left = jsonvalue.With(left, "metadata", meta)
	}
	again = o.Change
	again.Observed = &unstructured.Unstructured{Object: left}
	again.Object = &unstructured.Unstructured{Object: versioned(sent.Object, left)}
	return again, !jsonvalue.Equal(again.Object.Object, left)
}

// versioned returns an object with what the API server keeps of another: the metadata
// that it manages, and the status.
func versioned(object, by map[string]any) map[string]any {
	meta, now := jsonvalue.ObjectIn(object, "metadata"), jsonvalue.ObjectIn(by, "metadata")
	meta = jsonvalue.Clone(meta)
	for _, field := range []string{"resourceVersion", "generation"} {
		if value, has := now[field]; has {
			meta[field] = value
		} else {
			delete(meta, field)
		}
	}
	out := jsonvalue.With(object, "metadata", meta)
	if delete(out, "status"); by["status"] != nil {
		out["status"] = by["status"]
	}
	return out
}
