package check

import (
	"fmt"
	"maps"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel/model"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/libretto-k8s/libretto/controllers/manifest"
)

// checkCRD reports the types of a CustomResourceDefinition that are none, and the rules that do not compile, as the API server
// does. What else it refuses was found when the definition was read, but for the costs of rules.
func (r *run) checkCRD(crd *manifest.CRD) error {
	given := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Unstructured.Object, given); err != nil {
		return err
	}
	for i, version := range given.Spec.Versions {
		if version.Schema == nil {
			continue
		}
		internal := &apiextensions.CustomResourceValidation{}
		err := apiextensionsv1.Convert_v1_CustomResourceValidation_To_apiextensions_CustomResourceValidation(version.Schema, internal, nil)
		if err != nil {
			return err
		}
		root, err := structural.NewStructural(internal.OpenAPIV3Schema)
		if err != nil {
			return err
		}
		c := &schemaCheck{run: r, crd: crd}
		c.check(root, field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema"), true)
	}
	return nil
}

// schemaCheck is the check of one schema.
type schemaCheck struct {
	*run
	crd *manifest.CRD
}

func (c *schemaCheck) reportf(at *field.Path, format string, args ...any) {
	c.add(Finding{
		Severity: Error, Reason: reasonInvalid, Location: c.crd.Place(at.String()), Object: manifest.Name(c.crd.Object),
		Message: at.String() + ": " + fmt.Sprintf(format, args...),
	})
}

// schemaTypes are the types of schemas. None is for values of any type.
var schemaTypes = []string{"", "array", "boolean", "integer", "number", "object", "string"}

// check checks a schema and those in it.
func (c *schemaCheck) check(s *structural.Structural, at *field.Path, isRoot bool) {
	if !slices.Contains(schemaTypes, s.Type) {
		c.reportf(at.Child("type"), "there is no type %q: there are array, boolean, integer, number, object and string", s.Type)
		return
	}
	c.compileRules(s, at, isRoot)
	if s.Items != nil {
		c.check(s.Items, at.Child("items"), s.Items.XEmbeddedResource)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		property := s.Properties[name]
		c.check(&property, at.Child("properties").Child(name), property.XEmbeddedResource)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Structural != nil {
		inner := s.AdditionalProperties.Structural
		c.check(inner, at.Child("additionalProperties"), inner.XEmbeddedResource)
	}
}

// compileRules compiles the rules of a schema, without those in it.
func (c *schemaCheck) compileRules(s *structural.Structural, at *field.Path, isRoot bool) {
	if len(s.XValidations) == 0 {
		return
	}
	base := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
	rules, err := cel.Compile(s, model.SchemaDeclType(s, isRoot), celconfig.PerCallLimit, base, cel.NewExpressionsEnvLoader())
	at = at.Child("x-kubernetes-validations")
	if err != nil {
		c.reportf(at, "%v", err)
	}
	for i, rule := range rules {
		if rule.Error != nil {
			c.reportf(at.Index(i).Child("rule"), "%v", rule.Error.Detail)
		}
		if rule.MessageExpressionError != nil {
			c.reportf(at.Index(i).Child("messageExpression"), "%v", rule.MessageExpressionError.Detail)
		}
	}
}
