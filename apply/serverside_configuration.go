package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// configuration is what is applied: all that a definition asks for of an object, and
// nothing else.
type configuration struct {
	fields map[string]any
	mark   string
}

// configurationOf makes desired, with owner as its controller, into what is applied.
// A field that is null is asked for by nobody, and a Secret's stringData is written as
// what the API server keeps of it: otherwise what is no longer asked for would stay.
func configurationOf(desired *unstructured.Unstructured, owner metav1.OwnerReference, manager string) configuration {
	fields := wanted(desired)
	meta := with(objectIn(fields, "metadata"), "ownerReferences", ownedBy(desired, owner))
	fields = with(fields, "metadata", meta)
	mark := mark(fingerprint(fields))
	meta["annotations"] = with(objectIn(meta, "annotations"), appliedAnnotation(manager), mark)
	return configuration{fields: fields, mark: mark}
}

// wanted returns what of desired a hook has a say in, as the API server keeps it.
func wanted(desired *unstructured.Unstructured) map[string]any {
	return plain(managed(desired.Object))
}

// ownedBy gives the owner references of desired that make nobody its controller, and owner.
func ownedBy(desired *unstructured.Unstructured, owner metav1.OwnerReference) []any {
	var references []any
	for _, r := range adopted(desired, owner) {
		if r, ok := r.(map[string]any); ok && (r["uid"] == string(owner.UID) || r["controller"] != true) {
			references = append(references, r)
		}
	}
	return references
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

// withoutNulls gives a value without the fields that are null, which is the value itself
// if there are none.
func withoutNulls(v any) (out any, differs bool) {
	switch v := v.(type) {
	case map[string]any:
		return fieldsWithoutNulls(v)
	case []any:
		items := sliceBuilder{from: v}
		for _, item := range v {
			if kept, differs := withoutNulls(item); differs {
				items.add(kept)
			} else {
				items.keep(item)
			}
		}
		return items.list()
	}
	return v, false
}

func fieldsWithoutNulls(object map[string]any) (out map[string]any, differs bool) {
	out = object
	for name, field := range object {
		kept, changed := withoutNulls(field)
		if field != nil && !changed {
			continue
		}
		if !differs {
			out, differs = fork(object), true
		}
		if out[name] = kept; field == nil {
			delete(out, name)
		}
	}
	return out, differs
}
