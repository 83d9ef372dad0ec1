package validation

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// CustomResourceDefinitions returns the resource of CustomResourceDefinitions themselves.
func CustomResourceDefinitions() memcluster.Resource {
	gv := apiextensionsv1.SchemeGroupVersion
	return memcluster.Resource{Generation: true, Schema: definitions{}, Resource: discovery.Resource{
		GroupVersionResource: gv.WithResource("customresourcedefinitions"), Kind: gv.WithKind("CustomResourceDefinition"), HasStatus: true,
	}}
}

// definitions is the schema of CustomResourceDefinitions.
type definitions struct{}

// Decode drops the fields that the type does not have, and fills in defaults.
func (definitions) Decode(object map[string]any) (dropped []string, err error) {
	typed := &apiextensionsv1.CustomResourceDefinition{}
	if dropped, err = decodeTyped(object, typed); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinition(typed)
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&typed.Spec)
	spec, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&typed.Spec)
	if err != nil {
		return nil, err
	}
	object["spec"] = spec
	return dropped, nil
}

// Validate returns what is wrong with a definition.
func (definitions) Validate(object, old *unstructured.Unstructured) field.ErrorList {
	at := field.NewPath("metadata")
	errs := apivalidation.ValidateObjectMetaAccessor(object, false, apivalidation.NameIsDNSSubdomain, at)
	if old != nil {
		errs = apivalidation.ValidateObjectMetaAccessorUpdate(object, old, at)
		if jsonvalue.Equal(old.Object["spec"], object.Object["spec"]) {
			return errs
		}
	}
	if _, err := Read(object); err != nil {
		return append(errs, field.Invalid(field.NewPath("spec"), "", err.Error()))
	}
	found, err := CheckSchemas(object)
	if err != nil {
		return append(errs, field.Invalid(field.NewPath("spec"), "", err.Error()))
	}
	return append(errs, found...)
}

// ValidateStatus returns nothing: the status is the cluster's own.
func (definitions) ValidateStatus(_, _ *unstructured.Unstructured) field.ErrorList { return nil }

// TypeConverter returns the types for server-side apply.
func (definitions) TypeConverter() (managedfields.TypeConverter, error) {
	return managedfields.NewDeducedTypeConverter(), nil
}
