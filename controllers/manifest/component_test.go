package manifest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestComponent checks that kustomize, with the component of manifests, carries the names of generated ConfigMaps into definitions of all
// kinds.
func TestComponent(t *testing.T) {
	root := t.TempDir()
	component, err := filepath.Abs(filepath.Join("..", "..", "manifests", "component"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(root, "component"), os.DirFS(component)); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"app/kustomization.yaml": `
namespace: hooks
namePrefix: prod-
components: [../component]
resources: [definitions.yaml]
configMapGenerator:
- {name: app, files: [sync.js]}
- {name: lib, files: [lib.js]}
`,
		"app/sync.js": "export const sync = () => ({})",
		"app/lib.js":  "export const a = 1",
		"app/definitions.yaml": `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: a}
spec:
  generateSelector: true
  parentResource: {apiVersion: apps/v1, resource: deployments}
  scriptSources: [{configMap: {namespace: hooks, name: app}}, {configMap: {namespace: hooks, name: lib, prefix: lib}}]
  hooks: {sync: {script: {path: sync.js}}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: b}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  scriptSources: [{directory: {path: b}}, {configMap: {namespace: hooks, name: app}}, {configMap: {namespace: other, name: app, prefix: o}}]
  hooks: {sync: {script: {path: sync.js}}}
---
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: c}
spec:
  parentResource: {apiVersion: apps/v1, resource: deployments}
  inputResources: [{apiVersion: v1, resource: pods}]
  outputResources: [{apiVersion: v1, resource: configmaps}]
  scriptSources: [{configMap: {namespace: hooks, name: app}}]
  hooks: {map: {script: {path: sync.js}}}
`,
	} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set, err := Load(t.Context(), Options{Filenames: []string{filepath.Join(root, "app")}})
	if err != nil || set.Err() != nil {
		t.Fatal(err, set.Err())
	}
	generated := map[string]string{}
	for _, name := range set.ConfigMaps() {
		if name.Namespace != "hooks" {
			t.Errorf("ConfigMap %s", name)
		}
		generated[name.Name[:len("prod-app")]] = name.Name
	}
	want := map[string][]string{"prod-a": {generated["prod-app"], generated["prod-lib"]}, "prod-b": {"", generated["prod-app"], "app"}, "prod-c": {generated["prod-app"]}}
	for _, definition := range set.Definitions {
		sources, _, _ := unstructured.NestedSlice(definition.Object, "spec", "scriptSources")
		var names []string
		for _, source := range sources {
			name, _, _ := unstructured.NestedString(source.(map[string]any), "configMap", "name")
			names = append(names, name)
		}
		if got := strings.Join(names, " "); got != strings.Join(want[definition.GetName()], " ") || !strings.Contains(got, "prod-app-") {
			t.Errorf("%s: the sources are %q, want %q", definition.GetName(), names, want[definition.GetName()])
		}
	}
	if len(set.Definitions) != 3 {
		t.Errorf("%d definitions", len(set.Definitions))
	}
}
