// Package jsonschema has the JSON schemas of test files and of definitions, and makes those of custom resources, for editors: draft 7,
// which the YAML language server reads.
package jsonschema

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/manifests/crd"
)

// tests is the schema of test files, which tools/testformat writes.
//
//go:embed controllertest.schema.json
var tests []byte

// TestFile is the name of the file with the schema of test files.
const TestFile = "controllertest.schema.json"

// Suffix is the end of the names of files with schemas.
const Suffix = ".schema.json"

// File is a file with a schema.
type File struct {
	Name string
	Text []byte
}

// definitions are the files of the CustomResourceDefinitions of definitions, by kind.
var definitions = map[string]string{
	v1alpha1.CompositeControllerKind: "json/metacontroller.k8s.io_compositecontrollers.json",
	v1alpha1.DecoratorControllerKind: "json/metacontroller.k8s.io_decoratorcontrollers.json",
	v1alpha1.MapControllerKind:       "json/metacontroller.k8s.io_mapcontrollers.json",
}

// DefinitionFile returns the name of the file with the schema of a kind of definition.
func DefinitionFile(kind string) string { return strings.ToLower(kind) + Suffix }

// All returns the schemas of test files and of definitions.
func All() ([]File, error) {
	all := []File{Tests()}
	for kind := range definitions {
		file, err := Definition(kind)
		if err != nil {
			return nil, err
		}
		all = append(all, file)
	}
	slices.SortFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Tests returns the schema of test files.
func Tests() File { return File{TestFile, tests} }

// Definition returns the schema of a kind of definition.
func Definition(kind string) (File, error) {
	text, err := crd.Files.ReadFile(definitions[kind])
	if err != nil {
		return File{}, err
	}
	var parsed map[string]any
	if err := json.Unmarshal(text, &parsed); err != nil {
		return File{}, fmt.Errorf("%s: %w", definitions[kind], err)
	}
	files, err := Custom(parsed)
	if err != nil {
		return File{}, err
	}
	return File{DefinitionFile(kind), files[0].Text}, nil
}

// Custom returns the schemas of the served versions of a CustomResourceDefinition, in files like shop.example.com_v1.schema.json.
func Custom(definition map[string]any) ([]File, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(definition, &crd); err != nil {
		return nil, err
	}
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	var files []File
	for i, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		root, found, _ := unstructured.NestedMap(versions[i].(map[string]any), "schema", "openAPIV3Schema")
		if !found {
			root = map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}
		}
		text, err := rootSchema(root, crd.Spec.Group+"/"+version.Name, crd.Spec.Names.Kind)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s.%s_%s%s", strings.ToLower(crd.Spec.Names.Kind), crd.Spec.Group, version.Name, Suffix)
		files = append(files, File{name, text})
	}
	return files, nil
}

// rootSchema returns the schema of an object of a kind.
func rootSchema(root map[string]any, apiVersion, kind string) ([]byte, error) {
	convert(root)
	properties, _ := root["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
		root["properties"] = properties
	}
	required, _ := root["required"].([]any)
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		if !slices.Contains(required, any(name)) {
			required = append(required, name)
		}
	}
	root["required"] = required
	properties["apiVersion"] = map[string]any{"type": "string", "enum": []any{apiVersion}}
	properties["kind"] = map[string]any{"type": "string", "enum": []any{kind}}
	properties["metadata"] = map[string]any{"type": "object"}
	root["$schema"], root["title"] = "http://json-schema.org/draft-07/schema#", kind
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", " ")
	err := encoder.Encode(root)
	return text.Bytes(), err
}

// formats are those of OpenAPI that JSON schemas have too.
var formats = []any{"date-time", "date", "email", "hostname", "ipv4", "ipv6", "uri"}

// convert makes a structural schema, and all in it, one of JSON schema: what Kubernetes adds to it is said in its own words, or left
// out, and fields that would be pruned are refused.
func convert(schema map[string]any) {
	embedded := schema["x-kubernetes-embedded-resource"] == true
	_, isMap := schema["additionalProperties"]
	properties, _ := schema["properties"].(map[string]any)
	if schema["type"] == "object" && !isMap && !embedded && schema["x-kubernetes-preserve-unknown-fields"] != true {
		schema["additionalProperties"] = false
	}
	if schema["x-kubernetes-int-or-string"] == true {
		schema["type"] = []any{"integer", "string"}
		delete(schema, "anyOf")
	}
	describeRules(schema)
	if kind, ok := schema["type"].(string); ok && schema["nullable"] == true {
		schema["type"] = []any{kind, "null"}
		if enum, ok := schema["enum"].([]any); ok && !slices.Contains(enum, nil) {
			schema["enum"] = append(enum, nil)
		}
	}
	if !slices.Contains(formats, schema["format"]) {
		delete(schema, "format")
	}
	for key := range schema {
		if strings.HasPrefix(key, "x-kubernetes-") || key == "nullable" {
			delete(schema, key)
		}
	}
	for _, property := range properties {
		convert(property.(map[string]any))
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if inner, ok := schema[key].(map[string]any); ok {
			convert(inner)
		}
	}
}

// describeRules adds the messages of rules, which no editor can check, to the description.
func describeRules(schema map[string]any) {
	rules, _ := schema["x-kubernetes-validations"].([]any)
	description, _ := schema["description"].(string)
	for _, rule := range rules {
		if message, _ := rule.(map[string]any)["message"].(string); message != "" {
			description = strings.TrimSpace(description + "\n\nRule: " + message)
		}
	}
	if description != "" {
		schema["description"] = description
	}
}
