package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const given = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: compositecontrollers.metacontroller.k8s.io, annotations: {api-approved.kubernetes.io: unapproved, a: b}}
spec:
  group: metacontroller.k8s.io
  scope: Cluster
  names: {kind: CompositeController, plural: compositecontrollers, singular: compositecontroller, shortNames: [cc]}
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              serviceAccountRef: &ref
                type: object
                required: [name, namespace]
                properties: {name: {type: string}, namespace: {type: string, minLength: 1}}
              items: {type: array, items: *ref}
              selector: {type: object, properties: {namespaceSelector: {type: object, properties: {matchLabels: {type: object}}}}}
          status: {type: object, properties: {namespace: {type: string}}}
`

// TestRun changes names and scope, and refuses what is outside of a namespace, in spec alone.
func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "crd.yaml")
	if err := os.WriteFile(file, []byte(given), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := run([]string{file}, &out); err != nil {
		t.Fatal(err)
	}
	var got apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	names := got.Spec.Names
	if got.Name != "namespacedcompositecontrollers.libretto.dev" || got.Spec.Scope != "Namespaced" || got.Spec.Group != "libretto.dev" ||
		names.Plural+"."+got.Spec.Group != got.Name || names.Kind != "CompositeController" || names.ShortNames[0] != "ncc" || len(got.Annotations) != 1 {
		t.Errorf("the names are\n%s", out.String())
	}
	root := got.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties
	ref := root["spec"].Properties["serviceAccountRef"]
	if string(ref.Default.Raw) != `{"name":"default"}` || strings.Join(ref.Required, " ") != "name" {
		t.Errorf("the account has the default %s and requires %v", ref.Default.Raw, ref.Required)
	}
	for at, object := range map[string]schema{
		"serviceAccountRef": ref, "items": *root["spec"].Properties["items"].Items.Schema, "selector": root["spec"].Properties["selector"],
	} {
		if len(object.XValidations) != 1 || object.XValidations[0].Message == "" {
			t.Errorf("%s has the rules %v", at, object.XValidations)
		}
	}
	if len(root["status"].XValidations) > 0 {
		t.Errorf("the status has the rules %v", root["status"].XValidations)
	}
	if err := run(nil, &out); err == nil {
		t.Error("no file is no error")
	}
}
