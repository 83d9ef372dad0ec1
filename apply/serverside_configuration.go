package apply

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configuration is what is applied: all that a definition asks for of an object, and
// nothing else.
type configuration struct {
	fields map[string]any
	mark   string
}

// configurationOf makes desired, with its owner references, into what is applied.
// A field that is null is asked for by nobody, and a Secret's stringData is written as
// what the API server keeps of it: otherwise what is no longer asked for would stay.
func configurationOf(desired *unstructured.Unstructured, references []any, manager string) configuration {
	fields := wanted(desired)
	meta := with(objectIn(fields, "metadata"), "ownerReferences", references)
	fields = with(fields, "metadata", meta)
	mark := mark(Fingerprint(fields))
	meta["annotations"] = with(objectIn(meta, "annotations"), appliedAnnotation(manager), mark)
	return configuration{fields: fields, mark: mark}
}

// wanted returns what of desired a hook has a say in, as the API server keeps it.
func wanted(desired *unstructured.Unstructured) map[string]any {
	return plain(managed(desired.Object))
}

// object gives what is sent. It may name the version that it is for.
func (c configuration) object(uid, resourceVersion string) *unstructured.Unstructured {
	out, _ := fieldsWithoutNulls(c.fields)
	meta := with(objectIn(out, "metadata"), "resourceVersion", resourceVersion)
	if uid != "" {
		meta["uid"] = uid
	}
	return &unstructured.Unstructured{Object: with(out, "metadata", meta)}
}

// heldBy reports whether a manager that holds fields of an object holds all of the
// configuration there.
func (c configuration) heldBy(fields, object map[string]any) bool {
	if len(fields) == 0 {
		return false
	}
	for name, value := range c.fields {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			if !holdsMetadata(objectIn(fields, "f:metadata"), objectOf(value), objectIn(object, name)) {
				return false
			}
		default:
			if value != nil && !holdsField(fields, name, value, object) {
				return false
			}
		}
	}
	return true
}

// holdsMetadata leaves out what identifies an object and its version, which nobody holds.
func holdsMetadata(fields, meta, seen map[string]any) bool {
	for name, value := range meta {
		switch name {
		case "name", "namespace", "uid", "resourceVersion":
		default:
			if value != nil && !holdsField(fields, name, value, seen) {
				return false
			}
		}
	}
	return true
}
