// Package validation does for objects what an API server does between the request and the storage: it drops
// unknown fields, fills in defaults and validates. For custom resources it uses the API server's own library
// with the schema of the CustomResourceDefinition, for built-in kinds the types of client-go.
package validation

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Read returns the resources of the served versions of a CustomResourceDefinition, each with its schema. It
// returns an error for a definition that an API server would refuse.
//
// Each version is a resource of its own: an object is served in the version in which it was created, and is
// not converted. Rules of CEL are compiled when the first object is validated.
func Read(object *unstructured.Unstructured) ([]memcluster.Resource, error) {
	crd, err := decode(object)
	if err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", object.GetName(), err)
	}
	errs := validateNames(crd)
	var resources []memcluster.Resource
	for i := range crd.Spec.Versions {
		custom, err := newCustom(crd, &crd.Spec.Versions[i])
		if err != nil {
			return nil, fmt.Errorf("CustomResourceDefinition %s: spec.versions[%d]: %w", crd.Name, i, err)
		}
		errs = append(errs, custom.validateSchema(field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"))...)
		if crd.Spec.Versions[i].Served {
			resources = append(resources, resourceOf(crd, &crd.Spec.Versions[i], custom))
		}
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("CustomResourceDefinition %s: %w", crd.Name, err)
	}
	return resources, nil
}

func decode(object *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	if gvk := object.GroupVersionKind(); gvk != apiextensionsv1.SchemeGroupVersion.WithKind("CustomResourceDefinition") {
		return nil, fmt.Errorf("%s is not served any more: use %s", gvk.GroupVersion(), apiextensionsv1.SchemeGroupVersion)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	// Unknown fields are dropped, as by the API server.
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, crd); err != nil {
		return nil, err
	}
	apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
	return crd, nil
}

// validateNames returns what is wrong with a definition's names and versions.
func validateNames(crd *apiextensionsv1.CustomResourceDefinition) field.ErrorList {
	var errs field.ErrorList
	spec, names := field.NewPath("spec"), crd.Spec.Names
	if want := names.Plural + "." + crd.Spec.Group; crd.Name != want {
		errs = append(errs, field.Invalid(field.NewPath("metadata", "name"), crd.Name, `must be spec.names.plural+"."+spec.group`))
	}
	for name, value := range map[string]string{"group": crd.Spec.Group, "names.plural": names.Plural, "names.kind": names.Kind} {
		if value == "" {
			errs = append(errs, field.Required(spec.Child(name), ""))
		}
	}
	if names.Plural != "" && len(validation.IsDNS1035Label(names.Plural)) > 0 {
		errs = append(errs, field.Invalid(spec.Child("names", "plural"), names.Plural, validation.IsDNS1035Label(names.Plural)[0]))
	}
	scopes := []apiextensionsv1.ResourceScope{apiextensionsv1.ClusterScoped, apiextensionsv1.NamespaceScoped}
	if !slices.Contains(scopes, crd.Spec.Scope) {
		errs = append(errs, field.NotSupported(spec.Child("scope"), crd.Spec.Scope, scopes))
	}
	stored := 0
	for _, version := range crd.Spec.Versions {
		if version.Storage {
			stored++
		}
	}
	if stored != 1 {
		const one = "must have exactly one version marked as storage version"
		errs = append(errs, field.Invalid(spec.Child("versions"), len(crd.Spec.Versions), one))
	}
	return errs
}

func resourceOf(
	crd *apiextensionsv1.CustomResourceDefinition, version *apiextensionsv1.CustomResourceDefinitionVersion, custom *Custom,
) memcluster.Resource {
	gv := schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}
	return memcluster.Resource{
		Resource: discovery.Resource{
			GroupVersionResource: gv.WithResource(crd.Spec.Names.Plural), Kind: gv.WithKind(crd.Spec.Names.Kind),
			Namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped, HasStatus: custom.hasStatus, Custom: true,
		},
		Generation: true, Schema: custom,
	}
}

// internalSchema returns the schema of a version in the API server's internal form.
func internalSchema(version *apiextensionsv1.CustomResourceDefinitionVersion) (*apiextensions.JSONSchemaProps, error) {
	if version.Schema == nil || version.Schema.OpenAPIV3Schema == nil {
		return nil, errors.New("schema.openAPIV3Schema: Required value: schemas are required")
	}
	internal := &apiextensions.CustomResourceValidation{}
	convert := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation
	if err := convert(version.Schema, internal, nil); err != nil {
		return nil, err
	}
	return internal.OpenAPIV3Schema, nil
}

// wrongType matches what an API server says of a value of a wrong type, which has the type for the value.
var wrongType = regexp.MustCompile(`Invalid value: "(\w+)": .* in body must be of type (\w+): "\w+"$`)

// SayType returns a message of an API server in which a value of a wrong type is said to be one.
func SayType(message string) string {
	return wrongType.ReplaceAllString(message, "must be of type $2, and is of type $1")
}
