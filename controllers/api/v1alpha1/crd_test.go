package v1alpha1

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

type properties = apiextensionsv1.JSONSchemaProps

// definitions reads the generated custom resource definitions, by kind.
func definitions(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	all := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for name, data := range readAll(t, filepath.Join("../../../manifests/crd", GroupName+"_*.yaml"), 4) {
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.UnmarshalStrict(data, &crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all[crd.Spec.Names.Kind] = &crd
	}
	return all
}

// walkSchema visits the schema of an object and all that is in it.
func walkSchema(crd *apiextensionsv1.CustomResourceDefinition, path string, visit func(path string, s *properties)) {
	var walk func(path string, s *properties)
	walk = func(path string, s *properties) {
		visit(path, s)
		for name, inner := range s.Properties {
			walk(strings.TrimPrefix(path+"."+name, "."), &inner)
		}
		if s.Items != nil && s.Items.Schema != nil {
			walk(path+"[]", s.Items.Schema)
		}
	}
	walk(path, crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
}

// TestNames holds the names against section 0 of the specification.
func TestNames(t *testing.T) {
	crds := definitions(t)
	for kind, want := range map[string]struct {
		plural, singular string
		short            []string
		scope            apiextensionsv1.ResourceScope
	}{
		CompositeControllerKind: {"compositecontrollers", "compositecontroller", []string{"cc", "cctl"}, apiextensionsv1.ClusterScoped},
		DecoratorControllerKind: {"decoratorcontrollers", "decoratorcontroller", []string{"dec", "decorators"}, apiextensionsv1.ClusterScoped},
		MapControllerKind:       {"mapcontrollers", "mapcontroller", []string{"mc", "mctl"}, apiextensionsv1.ClusterScoped},
		ControllerRevisionKind:  {"controllerrevisions", "controllerrevision", nil, apiextensionsv1.NamespaceScoped},
	} {
		crd, ok := crds[kind]
		if !ok {
			t.Errorf("%s has no custom resource definition", kind)
			continue
		}
		names := crd.Spec.Names
		if isDefinition := kind != ControllerRevisionKind; isDefinition != slices.Equal(names.Categories, []string{"libretto"}) {
			t.Errorf("%s: categories %v: kubectl get libretto has to list all definitions, and nothing else", kind, names.Categories)
		}
		if names.Plural != want.plural || names.Singular != want.singular || !slices.Equal(names.ShortNames, want.short) || crd.Spec.Scope != want.scope {
			t.Errorf("%s: %+v, %s; want %+v", kind, names, crd.Spec.Scope, want)
		}
		if got := crd.Annotations["api-approved.kubernetes.io"]; got != "unapproved, request not yet submitted" {
			t.Errorf("%s: api-approved.kubernetes.io is %q", kind, got)
		}
		if crd.Spec.Group != GroupName || len(crd.Spec.Versions) != 1 || crd.Spec.Versions[0].Name != GroupVersion.Version {
			t.Errorf("%s: group and versions are not %v alone", kind, GroupVersion)
			continue
		}
		if subresources := crd.Spec.Versions[0].Subresources; subresources == nil || subresources.Status == nil {
			t.Errorf("%s has no status subresource", kind)
		}
	}
}

// TestFieldsAreDescribed shows that kubectl explain has something to say about every field.
func TestFieldsAreDescribed(t *testing.T) {
	for kind, crd := range definitions(t) {
		walkSchema(crd, "", func(path string, s *properties) {
			if path != "metadata" && !strings.HasSuffix(path, "[]") && s.Description == "" {
				t.Errorf("%s: %q has no description", kind, path)
			}
		})
	}
}

// TestRulesAreShown shows that every rule has a message of its own and that a bad
// manifest meets it.
func TestRulesAreShown(t *testing.T) {
	var wants []string
	for _, manifest := range readAll(t, filepath.Join(badManifests, "*.yaml"), 50) {
		for line := range strings.Lines(string(manifest)) {
			if want, ok := strings.CutPrefix(line, "# want: "); ok {
				wants = append(wants, strings.TrimSpace(want))
			}
		}
	}
	for kind, crd := range definitions(t) {
		walkSchema(crd, "", func(path string, s *properties) {
			for _, rule := range s.XValidations {
				if rule.Message == "" {
					t.Errorf("%s: a rule of %q has no message: %s", kind, path, rule.Rule)
				}
				if !slices.ContainsFunc(wants, func(want string) bool { return strings.Contains(rule.Message, want) }) {
					t.Errorf("%s: no bad manifest meets the rule of %q: %s", kind, path, rule.Message)
				}
			}
		})
	}
}
