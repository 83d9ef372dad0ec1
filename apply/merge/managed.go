package merge

import (
	"slices"
	"strings"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// unmanaged are the fields of metadata that a desired object has no say in: the
// API server keeps them or, for the owner references, adopting and releasing do.
var unmanaged = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// Managed returns object without status, without unmanaged metadata and without
// the annotations that remember it. A hook that hands back what it was given has
// all of these in it. The object itself is returned if it has none.
func Managed(object map[string]any) map[string]any {
	object, _ = jsonvalue.Without(object, "status")
	meta, differs := managedMetadata(jsonvalue.ObjectIn(object, "metadata"))
	if !differs {
		return object
	}
	return jsonvalue.With(object, "metadata", meta)
}

func managedMetadata(meta map[string]any) (out map[string]any, differs bool) {
	out, differs = jsonvalue.Without(meta, unmanaged...)
	annotations, remembered := jsonvalue.Without(jsonvalue.ObjectIn(meta, "annotations"), LastApplied)
	annotations, marked := unmarked(annotations)
	switch {
	case !remembered && !marked:
		return out, differs
	case len(annotations) == 0: // No annotations are desired.
		out, _ = jsonvalue.Without(out, "annotations")
		return out, true
	default:
		return jsonvalue.With(out, "annotations", annotations), true
	}
}

// unmanagedField reports whether a field of metadata is unmanaged.
func unmanagedField(name string) bool { return slices.Contains(unmanaged, name) }

// AppliedPrefix begins the annotation that records what a manager applied last: a hash of
// its configuration. The rest of its name stands for the manager, as two of them may
// each apply a part of one object.
const AppliedPrefix = "metacontroller.k8s.io/applied."

// unmarked returns annotations without the marks of any manager, which are
// annotations itself if there are none.
func unmarked(annotations map[string]any) (out map[string]any, differs bool) {
	var marks []string
	for name := range annotations {
		if strings.HasPrefix(name, AppliedPrefix) {
			marks = append(marks, name)
		}
	}
	return jsonvalue.Without(annotations, marks...)
}
