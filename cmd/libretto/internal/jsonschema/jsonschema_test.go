package jsonschema_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/jsonschema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/scaffold"
	"github.com/libretto-k8s/libretto/controllers/controllertest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
)

// validator returns a function that returns what a schema finds wrong with a YAML document, or "".
func validator(t *testing.T, text []byte) func(t *testing.T, document string) string {
	t.Helper()
	var schema spec.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	v := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default)
	return func(t *testing.T, document string) string {
		t.Helper()
		var value any
		if err := yaml.Unmarshal([]byte(document), &value); err != nil {
			t.Fatal(err)
		}
		if err := v.Validate(value).AsError(); err != nil {
			return err.Error()
		}
		return ""
	}
}

const header = "apiVersion: libretto.dev/v1alpha1\nkind: ControllerTest\n"

// TestTestFiles checks that all test files of the repository and of the templates fulfil the schema.
func TestTestFiles(t *testing.T) {
	problems := validator(t, jsonschema.Tests().Text)
	checked := 0
	check := func(t *testing.T, name, text string) {
		t.Helper()
		for document := range strings.SplitSeq(text, "\n---\n") {
			if _, invalid := controllertest.Parse(name, []byte(document)); len(invalid) > 0 {
				continue // It is there to be refused.
			}
			checked++
			if found := problems(t, document); found != "" {
				t.Errorf("%s: %s", name, found)
			}
		}
	}
	err := filepath.WalkDir(filepath.Join("..", "..", "..", ".."), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && (entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2) {
			return filepath.SkipDir
		}
		text, err := []byte(nil), error(nil)
		if suffix := filepath.Ext(path); !entry.IsDir() && (strings.HasSuffix(path, controllertest.FileSuffix) || suffix == ".txtar") {
			text, err = os.ReadFile(path)
		}
		if strings.HasSuffix(path, controllertest.FileSuffix) {
			check(t, path, string(text))
			return err
		}
		for _, file := range txtar.Parse(text).Files {
			switch {
			case strings.HasSuffix(file.Name, controllertest.FileSuffix):
				check(t, path+": "+file.Name, string(file.Data))
			case file.Name == "steps.yaml": // of the conformance suite
				steps := "  " + strings.ReplaceAll(strings.TrimSpace(string(file.Data)), "\n", "\n  ")
				check(t, path+": "+file.Name, header+"cases:\n- name: a\n  steps:\n"+steps+"\n")
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range scaffold.Variants {
		for name, text := range template(t, variant) {
			if strings.HasSuffix(name, controllertest.FileSuffix) {
				check(t, variant+": "+name, text)
			}
		}
	}
	t.Logf("%d documents", checked)
	if checked < len(scaffold.Variants)+1 {
		t.Errorf("only %d documents were checked", checked)
	}
}

func template(t *testing.T, variant string) map[string]string {
	t.Helper()
	controller, err := scaffold.New(scaffold.Options{Variant: variant, Language: "js"})
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, file := range controller.Files {
		files[file.Name] = string(file.Text)
	}
	return files
}

// TestSameAsParser checks that the schema and the parser accept the same documents.
func TestSameAsParser(t *testing.T) {
	problems := validator(t, jsonschema.Tests().Text)
	for text, accepted := range map[string]bool{
		"cases: [{name: a}]": true,
		"given: [a.yaml, {kind: Pod}]\ncases: [{name: a, skipChecks: {Settles: it can't}}]":                     true,
		"cases: [{name: a, ready: all, notReady: [Pod/a, {kind: Pod, metadata: {name: b}}]}]":                   true,
		"cases: [{name: a, ready: [Pod/x/a], after: 1h30m, passes: 2}]":                                         true,
		"cases: [{name: a, steps: [{step: x, delete: [Pod/a, {object: Pod/b, propagationPolicy: Orphan}]}]}]":   true,
		`cases: [{name: "a ${r}", each: [{r: 1}], passes: "${r}", want: {counts: {Pod: "${r}"}}}]`:              true,
		`cases: [{name: "a ${r}", each: [{r: {a: b}}], apply: ["${r}"], want: {status: "${r}"}}]`:               true,
		"cases: [{name: a, hook: sync, request: {parent: {}}, response: {status: {}}}]":                         true,
		"cases: [{name: a, want: {writes: [{create: Pod/a}], conditions: {Ready: 'True', B: {reason: x}}}}]":    true,
		"now: '2026-01-01T00:00:00Z'\ncases: [{name: a, webhooks: {sync: {statusCode: 503, delay: 1s}}}]":       true,
		"cases: [{name: a, steps: [{passes: 1, want: {finalized: true}}], respond: {sync: {statusCode: 503}}}]": true,
		"cases: [{name: a, hook: sync, fails: it}, {name: b, hook: sync, golden: b.yaml}]":                      true,
		"cases: [{name: a, steps: [{step: b}]}, {name: c, from: {case: a, step: b}, steps: [{passes: 1}]}]":     true,
		"cases: [{name: a, hook: sync, request: a.yaml, response: {}}]":                                         true,
		"cases: [{name: a, steps: [{passes: 1}], want: {finalized: true}}]":                                     false,
		"cases: [{name: a, steps: [{passes: 1}], apply: [{kind: Pod}]}]":                                        false,
		"cases: [{name: a, hook: sync, response: {}, want: {finalized: true}}]":                                 false,
		"cases: [{name: a, hook: sync, response: {}, steps: [{passes: 1}]}]":                                    false,
		"cases: [{name: a, hook: sync}]":                                                    false,
		"cases: [{name: a, request: {parent: {}}}]":                                         false,
		"cases: [{name: a, response: {}}]":                                                  false,
		"cases: [{name: a}, {name: b, from: {case: a}, given: [{kind: Pod}]}]":              false,
		"cases: [{name: a}, {name: b, from: {step: a}}]":                                    false,
		"cases: [{name: a, invalid: x}]":                                                    false,
		"cases: [{name: a, steps: [{invalid: x, want: {finalized: true}}]}]":                false,
		"cases: [{name: a, patch: [{object: Pod/a}]}]":                                      false,
		"cases: [{name: a, patch: [{object: Pod/a, merge: {a: b}, json: [{op: remove}]}]}]": false,
		"cases: [{name: a, webhooks: {sync: {body: {}, text: a}}}]":                         false,
		"cases: [{name: a, want: {children: []}}]":                                          false,
		"cases: [{name: a, want: {absent: [{metadata: {name: a}}]}}]":                       false,
		"definition: a\ndefinitions: [b]\ncases: [{name: a}]":                               false,
		"case: [{name: a}]":                                             false,
		"cases: [{}]":                                                   false,
		"cases: [{name: a, wants: {}}]":                                 false,
		"cases: [{name: a, want: {child: []}}]":                         false,
		"cases: [{name: a, ready: some}]":                               false,
		"cases: [{name: a, notReady: [a]}]":                             false,
		"cases: [{name: a, passes: two}]":                               false,
		"cases: [{name: a, restart: 1}]":                                false,
		"cases: [{name: a, after: soon}]":                               false,
		"cases: [{name: a, skipChecks: {Settle: x}}]":                   false,
		"cases: [{name: a, delete: [{object: Pod/b, propagation: x}]}]": false,
		"cases: [{name: a, steps: [{name: b}]}]":                        false,
		"cases: {name: a}":                                              false,
		"cases: [{name: a, given: [1]}]":                                false,
	} {
		if found := problems(t, header+text); (found == "") != accepted {
			t.Errorf("the schema accepts %s: %v, want %v: %s", text, !accepted, accepted, found)
		}
		_, invalid := controllertest.Parse("a_test.yaml", []byte(header+text))
		if (len(invalid) == 0) != accepted {
			t.Errorf("the parser accepts %s: %v, want %v: %v", text, !accepted, accepted, invalid)
		}
	}
	if problems(t, "kind: ControllerTest\ncases: [{name: a}]") == "" {
		t.Error("a document without apiVersion is accepted")
	}
}

// TestDefinitions checks that the schemas of definitions accept those of the templates and of the examples, and refuse mistakes.
func TestDefinitions(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "examples", "*", "*.yaml"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d files of examples: %v", len(files), err)
	}
	texts := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		texts[file] = string(text)
	}
	for _, variant := range scaffold.Variants {
		texts[variant] = template(t, variant)["definition.yaml"]
	}
	checked := 0
	for name, text := range texts {
		objects, _ := document.Read(name, []byte(text))
		for _, object := range objects {
			if !strings.HasPrefix(object.GetAPIVersion(), "metacontroller.k8s.io/") {
				continue
			}
			checked++
			file, err := jsonschema.Definition(object.GetKind())
			if err != nil {
				t.Fatal(err)
			}
			asYAML, err := yaml.Marshal(object.Object)
			if err != nil {
				t.Fatal(err)
			}
			problems := validator(t, file.Text)
			if found := problems(t, string(asYAML)); found != "" {
				t.Errorf("%s: %s", name, found)
			}
			for _, mistake := range []string{"kind: Other", "spec: {hook: {}}", "spec: {hooks: {sync: {scripts: {}}}}", "status: 1"} {
				first, _, _ := strings.Cut(mistake, ":")
				var fields map[string]any
				if err := yaml.Unmarshal([]byte(mistake), &fields); err != nil {
					t.Fatal(err)
				}
				wrong := object.DeepCopy()
				wrong.Object[first] = fields[first]
				asYAML, _ := yaml.Marshal(wrong.Object)
				if problems(t, string(asYAML)) == "" {
					t.Errorf("%s: %s is accepted", name, mistake)
				}
			}
		}
	}
	if checked < 9 {
		t.Errorf("only %d definitions were checked", checked)
	}
}

// TestCustom checks how the parts of a schema are converted that are Kubernetes' own.
func TestCustom(t *testing.T) {
	var parsed map[string]any
	err := yaml.Unmarshal([]byte(`
spec:
  group: example.com
  names: {kind: Shop}
  versions:
  - {name: v1alpha1, served: false, storage: false}
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            x-kubernetes-validations: [{rule: "true", message: must be closed on Sundays}]
            properties:
              port: {x-kubernetes-int-or-string: true}
              owner: {type: string, nullable: true}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true}
              labels: {type: object, additionalProperties: {type: string}}
              rows: {type: array, items: {type: object, properties: {a: {type: integer, format: int32}}}}
`), &parsed)
	if err != nil {
		t.Fatal(err)
	}
	files, err := jsonschema.Custom(parsed)
	if err != nil || len(files) != 1 || files[0].Name != "shop.example.com_v1.schema.json" {
		t.Fatalf("%v: %v", files, err)
	}
	if text := string(files[0].Text); !strings.Contains(text, "must be closed on Sundays") || strings.Contains(text, "x-kubernetes") {
		t.Errorf("rules must be described, and nothing be Kubernetes' own:\n%s", text)
	}
	problems := validator(t, files[0].Text)
	for text, accepted := range map[string]bool{
		"{port: http, owner: null, free: {a: {b: 1}}, labels: {a: b}, rows: [{a: 1}]}": true,
		"{port: 80, owner: a}": true,
		"{port: []}":           false,
		"{owner: 1}":           false,
		"{labels: {a: 1}}":     false,
		"{rows: [{b: 1}]}":     false,
		"{prt: 80}":            false,
	} {
		document := "{apiVersion: example.com/v1, kind: Shop, metadata: {name: a}, spec: " + text + "}"
		if found := problems(t, document); (found == "") != accepted {
			t.Errorf("%s is accepted: %v, want %v: %s", text, !accepted, accepted, found)
		}
	}
}
