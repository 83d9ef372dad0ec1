package serverside

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/jsonvalue"
)

// Configuration is what is applied: all that a definition asks for of an object, and
// nothing else.
type Configuration struct {
	Fields map[string]any
	Mark   string
}

// NewConfiguration makes desired, with its owner references, into what is applied.
// A field that is null is left out, and a Secret's stringData is written as
// what the API server keeps of it: otherwise what is no longer asked for would stay.
func NewConfiguration(desired *unstructured.Unstructured, references []any, manager string) Configuration {
	fields := Wanted(desired)
	meta := jsonvalue.With(jsonvalue.ObjectIn(fields, "metadata"), "ownerReferences", references)
	fields = jsonvalue.With(fields, "metadata", meta)
	mark := markOf(jsonvalue.Fingerprint(fields))
	meta["annotations"] = jsonvalue.With(jsonvalue.ObjectIn(meta, "annotations"), AppliedAnnotation(manager), mark)
	return Configuration{Fields: fields, Mark: mark}
}

// Wanted returns what of desired a hook has a say in, as the API server keeps it.
func Wanted(desired *unstructured.Unstructured) map[string]any {
	return merge.AsStored(merge.Managed(desired.Object))
}

// Object returns what is sent. It may name the version that it is for.
func (c Configuration) Object(uid, resourceVersion string) *unstructured.Unstructured {
	out, _ := jsonvalue.FieldsWithoutNulls(c.Fields)
	meta := jsonvalue.With(jsonvalue.ObjectIn(out, "metadata"), "resourceVersion", resourceVersion)
	if uid != "" {
		meta["uid"] = uid
	}
	return &unstructured.Unstructured{Object: jsonvalue.With(out, "metadata", meta)}
}

// HeldBy reports whether a manager that holds fields of an object holds all of the
// configuration there.
func (c Configuration) HeldBy(fields, object map[string]any) bool {
	if len(fields) == 0 {
		return false
	}
	for name, value := range c.Fields {
		switch name {
		case "apiVersion", "kind":
		case "metadata":
			if !holdsMetadata(jsonvalue.ObjectIn(fields, "f:metadata"), jsonvalue.AsObject(value), jsonvalue.ObjectIn(object, name)) {
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

// holdsMetadata leaves out what identifies an object and its version, which no manager holds.
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
