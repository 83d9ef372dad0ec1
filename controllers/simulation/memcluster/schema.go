package memcluster

import (
	"maps"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// decode reads an object as the API server does: unknown fields are dropped, defaults are filled in.
func (t *table) decode(r *request, object *unstructured.Unstructured) error {
	if t.Schema == nil {
		t.applyTable(object)
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
	if t.Schema == nil && !t.changes(sent) {
		return withOwnMetadata(sent), nil
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

// applyTable defaults and prunes an object of a resource that has no schema. It removes nulls, as for one
// without nullable fields.
func (t *table) applyTable(object *unstructured.Unstructured) {
	for dotted, value := range t.Defaults {
		fields := strings.Split(dotted, ".")
		if _, found, err := unstructured.NestedFieldNoCopy(object.Object, fields...); err == nil && !found {
			// A parent that is not an object has no default.
			_ = unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), fields...)
		}
	}
	for _, dropped := range t.Drops {
		unstructured.RemoveNestedField(object.Object, strings.Split(dropped, ".")...)
	}
	dropNulls(object.Object)
}

// changes reports whether applyTable makes a difference to an object.
func (t *table) changes(object *unstructured.Unstructured) bool {
	for path := range t.Defaults {
		if _, found, err := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...); err == nil && !found {
			return true
		}
	}
	for _, path := range t.Drops {
		if _, found, _ := unstructured.NestedFieldNoCopy(object.Object, strings.Split(path, ".")...); found {
			return true
		}
	}
	_, differs := jsonvalue.WithoutNulls(object.Object)
	return differs
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, item any) bool { return item == nil })
		for _, item := range v {
			dropNulls(item)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}
