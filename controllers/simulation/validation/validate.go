package validation

import (
	"context"
	"math"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/common"
)

// Validate returns what is wrong with an object that is created, or with one that replaces old. What was wrong in old already and
// is the same is not reported, as by the API server.
func (c *Custom) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	v, err := c.compiled()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	if old != nil {
		return c.validateUpdate(v, object, old)
	}
	return c.validateCreation(v, object)
}

func (c *Custom) validateCreation(v *validators, object *unstructured.Unstructured) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(object, c.namespaced, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, object.Object, v.object)...)
	errs = append(errs, c.validateScale(object)...)
	errs = append(errs, objectmeta.Validate(nil, object.Object, c.structural, false)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, c.structural, object.Object)...)
	return append(errs, c.validateRules(v, errs, object, nil)...)
}

func (c *Custom) validateUpdate(v *validators, object, old *unstructured.Unstructured) field.ErrorList {
	correlated := c.correlate(object, old)
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
	ratcheting := validation.WithRatcheting(correlated)
	errs = append(errs, validation.ValidateCustomResourceUpdate(nil, object.Object, old.Object, v.object, ratcheting)...)
	errs = append(errs, c.validateScale(object)...)
	errs = append(errs, objectmeta.Validate(nil, object.Object, c.structural, false)...)
	errs = append(errs, c.validateLists(object, old)...)
	return append(errs, c.validateRules(v, errs, object, old, cel.WithRatcheting(correlated))...)
}

// ValidateStatus returns what is wrong with an object whose status is written.
func (c *Custom) ValidateStatus(object, old *unstructured.Unstructured) field.ErrorList {
	v, err := c.compiled()
	if err != nil {
		return field.ErrorList{field.InternalError(nil, err)}
	}
	correlated := c.correlate(object, old)
	errs := apivalidation.ValidateObjectMetaAccessorUpdate(object, old, field.NewPath("metadata"))
	if status, ok := object.Object["status"]; ok {
		errs = append(errs, validation.ValidateCustomResourceUpdate(field.NewPath("status"), status, old.Object["status"], v.status,
			validation.WithRatcheting(correlated.Key("status")))...)
	}
	errs = append(errs, c.validateScale(object)...)
	errs = append(errs, c.validateLists(object, old)...)
	return append(errs, c.validateRules(v, errs, object, old, cel.WithRatcheting(correlated))...)
}

// correlate pairs the values of both objects, to tell which have changed.
func (c *Custom) correlate(object, old *unstructured.Unstructured) *common.CorrelatedObject {
	return common.NewCorrelatedObject(object.Object, old.Object, &model.Structural{Structural: c.structural})
}

// validateLists returns duplicates in sets and maps, unless there were such before.
func (c *Custom) validateLists(object, old *unstructured.Unstructured) field.ErrorList {
	if len(listtype.ValidateListSetsAndMaps(nil, c.structural, old.Object)) > 0 {
		return nil
	}
	return listtype.ValidateListSetsAndMaps(nil, c.structural, object.Object)
}

// validateRules evaluates the CEL rules, unless the object is not of the types that they are compiled for.
func (c *Custom) validateRules(
	v *validators, before field.ErrorList, object, old *unstructured.Unstructured, options ...cel.Option,
) field.ErrorList {
	if v.cel == nil {
		return nil
	}
	for _, err := range before {
		switch err.Type {
		case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany, field.ErrorTypeTypeInvalid:
			return field.ErrorList{field.Invalid(nil, nil,
				"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
		}
	}
	var oldObject any
	if old != nil {
		oldObject = old.Object
	}
	errs, _ := v.cel.Validate(context.Background(), nil, c.structural, object.Object, oldObject, celconfig.RuntimeCELCostBudget, options...)
	return errs
}

// validateScale returns what is wrong with the fields that the scale subresource reads.
func (c *Custom) validateScale(object *unstructured.Unstructured) field.ErrorList {
	if c.scale == nil {
		return nil
	}
	var errs field.ErrorList
	for _, path := range []string{c.scale.SpecReplicasPath, c.scale.StatusReplicasPath} {
		replicas, _, err := unstructured.NestedInt64(object.Object, strings.Split(strings.TrimPrefix(path, "."), ".")...)
		switch {
		case err != nil:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, err.Error()))
		case replicas < 0:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, "should be a non-negative integer"))
		case replicas > math.MaxInt32:
			errs = append(errs, field.Invalid(field.NewPath(path), replicas, "should be less than or equal to 2147483647"))
		}
	}
	if path := c.scale.LabelSelectorPath; path != nil {
		if selector, _, err := unstructured.NestedString(object.Object, strings.Split(strings.TrimPrefix(*path, "."), ".")...); err != nil {
			errs = append(errs, field.Invalid(field.NewPath(*path), selector, err.Error()))
		}
	}
	return errs
}
