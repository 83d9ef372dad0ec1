package test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/test/cases"
)

// toy is an engine whose scripts are answers in YAML. It takes the extension of one that the API knows: make generate adds that of
// a further engine.
var toy = engines.Definition{
	Name: "Toy", Doc: "Answers with what the script is.", Extensions: []string{".cel"},
	Tests: &engines.TestFiles{Endings: []string{"_test.cel"}},
	New:   func(engines.Config) (engines.Engine, error) { return toyEngine{}, nil },
}

type toyEngine struct{}

func (toyEngine) Compile(_ context.Context, src engines.Source) (engines.Program, error) {
	p := toyProgram{isTest: src.Hook == engines.HookTest}
	if err := yaml.Unmarshal([]byte(src.Script.Files[src.Script.Path]), &p.answer); err != nil {
		return nil, engines.InvalidError(engines.Location{File: src.Script.Path, Line: 1}, "%v", err)
	}
	return p, nil
}

type toyProgram struct {
	engines.ProgramBase
	isTest bool
	answer any
}

// Run answers with the script. A script of tests is a list of their names, and all of them pass.
func (p toyProgram) Run(_ context.Context, call engines.Call) (engines.Response, error) {
	names, _ := p.answer.([]any)
	switch asked, runs := call.Request["run"].([]any); {
	case !p.isTest:
		return engines.Response{Body: p.answer}, nil
	case runs:
		passed := make([]any, len(asked))
		for i := range passed {
			passed[i] = map[string]any{}
		}
		return engines.Response{Body: passed}, nil
	default:
		var listed []any
		for _, name := range names {
			listed = append(listed, map[string]any{"name": name})
		}
		return engines.Response{Body: listed}, nil
	}
}

const toyFiles = `
-- definition.yaml --
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: greet}
spec:
  parentResource: {apiVersion: example.com/v1, resource: greetings}
  generateSelector: true
  scriptSources: [{configMap: {namespace: default, name: greet}}]
  hooks: {sync: {script: {path: sync.cel}}}
-- crd.yaml --
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: greetings.example.com}
spec:
  group: example.com
  names: {kind: Greeting, plural: greetings}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, properties: {said: {type: string}}}}}}
-- kustomization.yaml --
resources: [definition.yaml, crd.yaml, parent.yaml]
generatorOptions: {disableNameSuffixHash: true}
configMapGenerator: [{name: greet, namespace: default, files: [sync.cel, names_test.cel]}]
-- parent.yaml --
{apiVersion: example.com/v1, kind: Greeting, metadata: {name: a, namespace: default}}
-- sync.cel --
{status: {said: hello}, children: []}
-- names_test.cel --
[one, two]
-- greet_test.yaml --
apiVersion: libretto.dev/v1alpha1
kind: ControllerTest
definition: .
given: [parent.yaml]
cases:
- {name: greets, want: {status: {said: hello}}}
`

// TestFurtherEngine checks, renders and tests a controller whose script is of an engine that nothing but its definition is known of.
func TestFurtherEngine(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, f := range txtar.Parse([]byte(toyFiles)).Files {
		if err := os.WriteFile(filepath.Clean(f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	registry, err := engines.NewRegistry(engines.Config{}, append(standard.Others(), toy)...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := manifest.Load(t.Context(), manifest.Options{Filenames: []string{"."}, IsScript: registry.HasScript})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := check.Run(t.Context(), set, registry)
	if err != nil || checked.Scripts != 1 || len(checked.Findings) > 0 {
		t.Errorf("check: %+v, %v", checked, err)
	}
	rendered, err := render.Render(t.Context(), render.Options{
		Set: set, Engines: registry, Steps: 1, Now: time.Unix(0, 0), Namespace: "default", Warn: func(text string) { t.Error(text) },
	})
	if err != nil || len(rendered) != 1 {
		t.Fatalf("render: %d, %v", len(rendered), err)
	}
	if status, _ := rendered[0].Parent.Object["status"].(map[string]any); status["said"] != "hello" {
		t.Errorf("render: status %v", status)
	}
	if results := cases.MustPass(t, registry, "."); len(results) != 3 {
		t.Errorf("test: %d results, want one of the case and two of functions", len(results))
	}
}
