// Command namespacedcrd reads the CustomResourceDefinition of a kind of definition in the file that is its first argument, and writes that
// of the kind with a namespace to its standard output. The two differ in their group, names and scope, and in that the second one refuses
// fields for what is outside of a definition's namespace: they are there, so that their use has a message instead of being dropped.
package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type schema = apiextensionsv1.JSONSchemaProps

const (
	group = "libretto.dev"
	// prefix makes the names of resources others than those of the cluster-scoped kinds, so that kubectl confuses none.
	prefix = "namespaced"
)

// refused are fields that no definition with a namespace may have, with why.
var refused = map[string]string{
	"namespace":         "must be left out: a definition with a namespace refers to its own namespace only",
	"namespaceSelector": "must be left out: a definition with a namespace sees its own namespace only",
	"directory":         "directories of the host are not for definitions with a namespace: use configMap",
	"url":               "a definition with a namespace calls no url: give service and path, for a Service in its namespace",
	"prometheus":        "the host asks no server for a definition with a namespace: use cel or job",
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "namespacedcrd:", err)
		os.Exit(1)
	}
}

func run(paths []string, out io.Writer) error {
	if len(paths) != 1 {
		return errors.New("name the file of one CustomResourceDefinition")
	}
	data, err := os.ReadFile(paths[0])
	if err != nil {
		return err
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(data, &crd); err != nil {
		return fmt.Errorf("%s: %w", paths[0], err)
	}
	for i := range crd.Spec.Versions {
		root := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
		spec, account := root.Properties["spec"], "serviceAccountRef"
		refuse(&spec)
		ref := spec.Properties[account]
		ref.Default = &apiextensionsv1.JSON{Raw: []byte(`{"name": "default"}`)}
		ref.Description = "ServiceAccountRef is the account that the host works as for this definition, in the definition's namespace: it\n" +
			"writes children, parents and events, reads scripts and Secrets, and scripts are shown\nnothing that the account may not list and watch."
		spec.Properties[account], root.Properties["spec"] = ref, spec
		root.Description += "\nAll that it names, and all that it makes, is in its own namespace."
	}
	names := &crd.Spec.Names
	names.Plural, names.Singular = prefix+names.Plural, prefix+names.Singular
	for i, short := range names.ShortNames {
		names.ShortNames[i] = prefix[:1] + short
	}
	crd.Spec.Group, crd.Spec.Scope, crd.Name = group, apiextensionsv1.NamespaceScoped, names.Plural+"."+group
	delete(crd.Annotations, "api-approved.kubernetes.io") // It is for groups of Kubernetes' own.
	text, err := yaml.Marshal(struct {
		APIVersion string         `json:"apiVersion"`
		Kind       string         `json:"kind"`
		Metadata   map[string]any `json:"metadata"`
		Spec       any            `json:"spec"`
	}{crd.APIVersion, crd.Kind, map[string]any{"name": crd.Name, "annotations": crd.Annotations}, crd.Spec})
	if err == nil {
		_, err = fmt.Fprintf(out, "---\n%s", text)
	}
	return err
}

// refuse adds the rules that refuse fields to an object, and to the objects in it.
func refuse(s *schema) {
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		field := s.Properties[name]
		refuse(&field)
		if why, is := refused[name]; is {
			s.Required = slices.DeleteFunc(s.Required, func(required string) bool { return required == name })
			s.XValidations = append(s.XValidations, apiextensionsv1.ValidationRule{
				Rule: fmt.Sprintf("!has(self.%s)", name), Message: why, FieldPath: "." + name,
			})
			field = schema{Type: field.Type, Description: "Not used.", XPreserveUnknownFields: field.XPreserveUnknownFields}
			if field.Type == "object" {
				field.XPreserveUnknownFields = new(true)
			}
		}
		s.Properties[name] = field
	}
	if s.Items != nil && s.Items.Schema != nil {
		refuse(s.Items.Schema)
	}
}
