package apply

import (
	"slices"
	"strings"
)

// unmanaged are the fields of metadata that a desired object has no say in: the
// API server keeps them or, for the owner references, adopting and releasing do.
var unmanaged = []string{
	"creationTimestamp", "deletionGracePeriodSeconds", "deletionTimestamp", "generation",
	"managedFields", "ownerReferences", "resourceVersion", "selfLink", "uid",
}

// managed returns object without status, without unmanaged metadata and without
// the annotations that remember it. A hook that hands back what it was given has
// all of these in it. The object itself is returned if it has none.
func managed(object map[string]any) map[string]any {
	object, _ = without(object, "status")
	meta, differs := managedMetadata(objectIn(object, "metadata"))
	if !differs {
		return object
	}
	return with(object, "metadata", meta)
}

func managedMetadata(meta map[string]any) (out map[string]any, differs bool) {
	out, differs = without(meta, unmanaged...)
	annotations, remembered := without(objectIn(meta, "annotations"), LastApplied)
	annotations, marked := unmarked(annotations)
	switch {
	case !remembered && !marked:
		return out, differs
	case len(annotations) == 0: // Nobody has asked for annotations.
		out, _ = without(out, "annotations")
		return out, true
	default:
		return with(out, "annotations", annotations), true
	}
}

// unmanagedField reports whether a field of metadata is unmanaged.
func unmanagedField(name string) bool { return slices.Contains(unmanaged, name) }

// appliedPrefix begins the annotation that says what a manager applied last: a hash of
// its configuration. The rest of its name stands for the manager, as two of them may
// each apply a part of one object.
const appliedPrefix = "metacontroller.k8s.io/applied."

// unmarked gives annotations without the marks of any manager, which are
// annotations itself if there are none.
func unmarked(annotations map[string]any) (out map[string]any, differs bool) {
	var marks []string
	for name := range annotations {
		if strings.HasPrefix(name, appliedPrefix) {
			marks = append(marks, name)
		}
	}
	return without(annotations, marks...)
}
