package memcluster

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// decode reads an object as the API server does: unknown fields are dropped, defaults are filled in.
func (t *table) decode(r *request, object *unstructured.Unstructured) error {
	if t.Schema == nil {
		object.Object, _ = t.readTable(object.Object)
		return nil
	}
	dropped, err := t.Schema.Decode(object.Object)
	switch {
	case err != nil && r.verb == Patch && r.patchType == types.MergePatchType:
		invalid := field.Invalid(field.NewPath("patch"), string(r.patch), err.Error())
		return apierrors.NewInvalid(t.Kind.GroupKind(), r.name, field.ErrorList{invalid})
	case err != nil:
		return apierrors.NewBadRequest(err.Error())
	}
	r.dropped = append(r.dropped, dropped...)
	return nil
}

// decoded returns an object as the API server reads it. It has metadata of its own, and shares what decoding leaves as it is.
func (t *table) decoded(r *request, sent *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	if t.Schema == nil {
		read, _ := t.readTable(sent.Object)
		return withOwnMetadata(&unstructured.Unstructured{Object: read}), nil
	}
	object := sent.DeepCopy()
	return object, t.decode(r, object)
}

// validate returns the error for an object that is invalid, or that must not replace the one before.
func (t *table) validate(r *request, object *unstructured.Unstructured) error {
	var errs field.ErrorList
	switch {
	case t.Schema == nil && r.status:
		return nil
	case t.Schema == nil && t.Rules != nil:
		return t.Rules.Refuses(object, r.before)
	case t.Schema == nil:
		errs = t.validateMetadata(object, r.before)
	case r.status:
		errs = t.Schema.ValidateStatus(object, r.before)
	default:
		errs = t.Schema.Validate(object, r.before)
	}
	if len(errs) > 0 {
		return apierrors.NewInvalid(t.Kind.GroupKind(), r.name, errs)
	}
	return nil
}

// validateMetadata returns what is wrong with the metadata of an object by the rules for all kinds, or for all custom resources.
func (t *table) validateMetadata(object, old *unstructured.Unstructured) field.ErrorList {
	at := field.NewPath("metadata")
	switch {
	case old != nil:
		return apivalidation.ValidateObjectMetaAccessorUpdate(object, old, at)
	case t.Custom:
		return apivalidation.ValidateObjectMetaAccessor(object, t.Namespaced, apivalidation.NameIsDNSSubdomain, at)
	default:
		return apivalidation.ValidateObjectMetaAccessor(object, t.Namespaced, isPathSegment, at)
	}
}

// isPathSegment returns why a name cannot be a part of a URL.
func isPathSegment(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// readTable returns an object of a resource without a schema as the API server reads it, and whether that differs from it: without nulls,
// as of a kind without nullable fields.
func (t *table) readTable(object map[string]any) (read map[string]any, differs bool) {
	read = object
	if t.PrunesStatus {
		read, differs = jsonvalue.Without(object, "status")
	}
	read, hasNulls := jsonvalue.FieldsWithoutNulls(read)
	return read, differs || hasNulls
}
