package apply

import (
	"maps"
	"slices"
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

// without returns object less some fields, which is object itself if it has none of them.
func without(object map[string]any, fields ...string) (out map[string]any, differs bool) {
	out = object
	for _, f := range fields {
		if _, has := object[f]; !has {
			continue
		}
		if !differs {
			out, differs = fork(object), true
		}
		delete(out, f)
	}
	return out, differs
}

// with returns a copy of object that has value in a field.
func with(object map[string]any, field string, value any) map[string]any {
	out := fork(object)
	out[field] = value
	return out
}

// fork returns a copy that can be changed at its top level.
func fork(object map[string]any) map[string]any {
	out := make(map[string]any, len(object)+1)
	maps.Copy(out, object)
	return out
}

// objectIn returns the object in a field, or nil if there is none.
func objectIn(object map[string]any, field string) map[string]any {
	in, _ := object[field].(map[string]any)
	return in
}

// unmanagedField reports whether a field of metadata is unmanaged.
func unmanagedField(name string) bool { return slices.Contains(unmanaged, name) }
