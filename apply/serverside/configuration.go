package serverside

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// Configuration is what is applied: all that a definition asks for of an object, and
// nothing else.
type Configuration struct {
	Fields map[string]any
	Mark   string
}

// NewConfiguration makes desired, with its owner references, into what is applied.
// A field that is null is left out unless null is a value by the schema, which may be nil, and a Secret's stringData is written as
// what the API server keeps of it: otherwise what is no longer asked for would stay.
func NewConfiguration(desired *unstructured.Unstructured, references []any, manager string, kind *openapi.Kind) Configuration {
	fields, nulls := jsonvalue.FieldsWithoutNulls(Wanted(desired))
	marked := fields
	if nulls && kind != nil {
		fields = jsonvalue.AsObject(allowedNulls(kind.Root, Wanted(desired), nil))
		marked = jsonvalue.AsObject(allowedNulls(kind.Root, Wanted(desired), nullMark))
	}
	meta := jsonvalue.With(jsonvalue.ObjectIn(fields, "metadata"), "ownerReferences", references)
	fields = jsonvalue.With(fields, "metadata", meta)
	mark := markOf(jsonvalue.Fingerprint(jsonvalue.With(marked, "metadata", meta)))
	meta["annotations"] = jsonvalue.With(jsonvalue.ObjectIn(meta, "annotations"), AppliedAnnotation(manager), mark)
	return Configuration{Fields: fields, Mark: mark}
}

// nullMark stands for a null in what is hashed, where null counts as absent.
const nullMark = "\x00null"

// allowedNulls returns a copy of a value without the fields that are null and may not be, and with null in place of the others.
func allowedNulls(node *openapi.Node, v, null any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, field := range v {
			at := node.Field(name)
			switch {
			case field != nil:
				out[name] = allowedNulls(at, field, null)
			case at != nil && at.Nullable:
				out[name] = null
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = allowedNulls(node.Item(), item, null)
		}
		return out
	}
	return v
}

// Wanted returns what of desired a hook has a say in, as the API server keeps it.
func Wanted(desired *unstructured.Unstructured) map[string]any {
	return merge.AsStored(merge.Managed(desired.Object))
}

// Object returns what is sent. It may name the version that it is for.
func (c Configuration) Object(uid, resourceVersion string) *unstructured.Unstructured {
	meta := jsonvalue.With(jsonvalue.ObjectIn(c.Fields, "metadata"), "resourceVersion", resourceVersion)
	if uid != "" {
		meta["uid"] = uid
	}
	return &unstructured.Unstructured{Object: jsonvalue.With(c.Fields, "metadata", meta)}
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
