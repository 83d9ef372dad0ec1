package lsp

import (
	"encoding/json"
	"errors"
	"slices"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/jsonschema"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/scriptcheck"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
)

// testSchema returns the schema of files of tests, as one of a CustomResourceDefinition.
var testSchema = sync.OnceValue(func() *apiextensionsv1.CustomResourceDefinition {
	var parsed map[string]any
	err := json.Unmarshal(jsonschema.Tests().Text, &parsed)
	simplify(parsed)
	props := &apiextensionsv1.JSONSchemaProps{}
	if err = errors.Join(err, runtime.DefaultUnstructuredConverter.FromUnstructured(parsed, props)); err != nil {
		panic(err) // It is embedded.
	}
	gv, _ := schema.ParseGroupVersion(controllertest.APIVersion)
	version := apiextensionsv1.CustomResourceDefinitionVersion{
		Name: gv.Version, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: props},
	}
	return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{
		Group: gv.Group, Names: apiextensionsv1.CustomResourceDefinitionNames{Kind: controllertest.Kind},
		Versions: []apiextensionsv1.CustomResourceDefinitionVersion{version},
	}}
})

// simplify leaves one type of several in a schema and in all of it, and merges alternatives into what has them.
func simplify(value any) {
	s, _ := value.(map[string]any)
	for _, inner := range s {
		simplify(inner)
	}
	list, _ := value.([]any)
	for _, inner := range list {
		simplify(inner)
	}
	if types, several := s["type"].([]any); several {
		s["type"] = slices.DeleteFunc(types, func(t any) bool { return t == "string" })[0]
	}
	alternatives, _ := s["anyOf"].([]any)
	for _, one := range alternatives {
		fields, _ := one.(map[string]any)
		for _, key := range []string{"properties", "items", "enum", "type"} {
			if given := fields[key]; given != nil && (s[key] == nil || key == "type" && given != "string") {
				s[key] = given
			}
		}
	}
}

// schemaAt returns what objects have at a place, if that is known.
func schemaAt(at yamlCursor, set *manifest.Set) (scriptcheck.Member, bool) {
	crds := []*apiextensionsv1.CustomResourceDefinition{testSchema()}
	own, err := validation.AllOwn()
	if err != nil {
		panic(err) // They are embedded.
	}
	for _, resource := range own {
		crds = append(crds, resource.Definition)
	}
	return scriptcheck.New(append(crds, check.CRDs(set)...)...).At(schema.FromAPIVersionAndKind(at.apiVersion, at.kind), at.path...)
}

// describe returns the text of a description.
func describe(f scriptcheck.Field) string {
	text := "`" + f.Name + "`: " + f.Type
	if f.Doc != "" {
		text += "\n\n" + f.Doc
	}
	return text
}
