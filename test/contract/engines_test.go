package contract

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/controllers/api/hooks"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/cel"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// scriptMarkers is where the API describes the engines of scripts.
const scriptMarkers = "controllers/api/v1alpha1/script.go (make generate does)"

// TestEnginesInTheAPI holds the enum and the rule for paths of the CRDs against the list of
// engines, so that a new engine can be used in definitions.
func TestEnginesInTheAPI(t *testing.T) {
	var names, endings, patterns []string
	for _, d := range standard.Scripts() {
		names = append(names, d.Name)
		endings = append(endings, d.Extensions...)
		for _, ending := range d.Extensions {
			patterns = append(patterns, strings.ReplaceAll(ending[1:], ".", "[.]"))
		}
	}
	enum := "+kubebuilder:validation:Enum=" + strings.Join(names, ";")
	pattern := "'[.](" + strings.Join(patterns, "|") + ")$'"
	schemas := scriptSchemas(t)
	for _, script := range schemas {
		var values []string
		for _, value := range script.Properties["engine"].Enum {
			values = append(values, strings.Trim(string(value.Raw), `"`))
		}
		if !slices.Equal(values, names) {
			t.Errorf("field engine of scripts allows %v: write %s in %s", values, enum, scriptMarkers)
		}
		rule := slices.IndexFunc(script.XValidations, func(r apiextensionsv1.ValidationRule) bool {
			return strings.Contains(r.Rule, "|| self.path.matches("+pattern+")")
		})
		if rule < 0 {
			t.Fatalf("no rule for field path of scripts is self.path.matches(%s): write that in %s", pattern, scriptMarkers)
		}
		for _, word := range slices.Concat(names, endings) {
			if !strings.Contains(script.XValidations[rule].Message, word) {
				t.Errorf("the rule's message does not name %s: %q in %s", word, script.XValidations[rule].Message, scriptMarkers)
			}
			if !strings.Contains(script.Properties["engine"].Description, word) {
				t.Errorf("the description of field engine does not name %s: %s", word, scriptMarkers)
			}
		}
	}
	if len(schemas) < 3 {
		t.Errorf("found %d scripts in the CRDs, so that nothing would be checked", len(schemas))
	}
}

// scriptSchemas returns the schemas of all scripts in the CRDs.
func scriptSchemas(t *testing.T) []apiextensionsv1.JSONSchemaProps {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "manifests", "crd", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var found []apiextensionsv1.JSONSchemaProps
	var search func(apiextensionsv1.JSONSchemaProps)
	search = func(schema apiextensionsv1.JSONSchemaProps) {
		if script, ok := schema.Properties["script"]; ok {
			found = append(found, script)
		}
		for _, property := range schema.Properties {
			search(property)
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd apiextensionsv1.CustomResourceDefinition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, version := range crd.Spec.Versions {
			search(*version.Schema.OpenAPIV3Schema)
		}
	}
	return found
}

// TestFieldsInCEL holds the variables that CEL declares for each hook against the types of the
// requests.
func TestFieldsInCEL(t *testing.T) {
	engine, err := cel.Definition().New(engines.Config{})
	if err != nil {
		t.Fatal(err)
	}
	requests := map[string][]any{
		"sync":      {hooks.CompositeRequest{}, hooks.DecoratorRequest{}},
		"finalize":  {hooks.CompositeRequest{}, hooks.DecoratorRequest{}, hooks.MapFinalizeRequest{}},
		"customize": {hooks.CustomizeRequest{}},
		"map":       {hooks.MapRequest{}},
		"tombstone": {hooks.TombstoneRequest{}},
	}
	all := map[string]bool{}
	fields := map[string]map[string]bool{}
	for hook, types := range requests {
		fields[hook] = map[string]bool{}
		for _, request := range types {
			for field := range fieldsOf(request) {
				fields[hook][field], all[field] = true, true
			}
		}
	}
	for hook := range requests {
		for field := range all {
			t.Run(hook+" "+field, func(t *testing.T) {
				script := &engines.Script{Path: "a.cel", Files: engines.Files{"a.cel": fmt.Sprintf("{'value': %s}", field)}}
				_, err := engine.Compile(t.Context(), engines.Source{Hook: hook, Script: script})
				if declared := err == nil; declared != fields[hook][field] {
					t.Errorf("CEL declares the field: %v, and requests have it: %v: correct fieldsOf in engines/cel/fields.go (%v)", declared, fields[hook][field], err)
				}
			})
		}
	}
}
