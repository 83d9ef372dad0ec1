package migration

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// snippet is a piece of code that begins with the name of the file that it is.
var snippet = regexp.MustCompile("(?ms)^```\\w+\n(?:#|//) (\\S+/\\S+)\n(.*?)^```$")

// snippets writes the files of docs/migrate.md to a directory.
func snippets(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "migrate.md"))
	env.NoError(t, err)
	directory := t.TempDir()
	found := snippet.FindAllStringSubmatch(string(text), -1)
	if len(found) != 12 {
		t.Fatalf("found %d files in docs/migrate.md, want 12", len(found))
	}
	for _, file := range found {
		name := filepath.Join(directory, file[1])
		env.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
		env.NoError(t, os.WriteFile(name, []byte(file[2]), 0o600))
	}
	return directory
}

// TestGuide does what docs/migrate.md says with the files that it has.
func TestGuide(t *testing.T) {
	directory := snippets(t)
	w := env.New(t)
	kubectl := func(args ...string) {
		t.Helper()
		if out, err := w.Cluster.Kubectl(t.Context(), args...); err != nil {
			t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	const group = "ctl.example.com"
	w.Apply(strings.Join([]string{
		env.CRD(group, "Greeting", "Namespaced"), env.CRD(group, "Page", "Namespaced"), env.CRD(group, "Team", "Namespaced"),
		env.CRD(group, "Office", "Cluster"), "{apiVersion: v1, kind: Namespace, metadata: {name: hooks}}",
	}, "\n---\n"))
	composites, maps := env.CompositeControllers, env.CompositeControllers.GroupVersion().WithResource("mapcontrollers")
	definitions := map[string]schema.GroupVersionResource{"greetings": composites, "pages": composites, "teams": maps}
	t.Cleanup(func() {
		for name, resource := range definitions {
			w.Delete(resource, "", name)
		}
	})
	kubectl("apply", "-f", filepath.Join(directory, "greetings", "before.yaml"), "-f", filepath.Join(directory, "pages", "before.yaml"))
	w.Start()
	for name := range definitions {
		kubectl("apply", "-k", filepath.Join(directory, name))
	}
	for name, resource := range definitions {
		w.ClusterScope().WaitFor(resource, name, func(o *unstructured.Unstructured) error {
			return env.CheckCondition(w.ConditionOf(o, "Ready"), "True")
		})
	}
	w.Apply(`
{apiVersion: ctl.example.com/v1, kind: Greeting, metadata: {name: hello}, spec: {who: world}}
---
{apiVersion: ctl.example.com/v1, kind: Page, metadata: {name: home}, spec: {title: Home}}
---
{apiVersion: ctl.example.com/v1, kind: Team, metadata: {name: red}, spec: {}}
---
{apiVersion: ctl.example.com/v1, kind: Office, metadata: {name: all}, spec: {selector: {}}}`)
	w.WaitFor(env.ConfigMaps, "hello", env.HasField("Hello, world!", "data", "text"))
	w.WaitFor(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "greetings"}, "hello", env.HasField("1", "status", "texts"))
	w.WaitFor(env.ConfigMaps, "home", env.HasField("<title>Home</title>", "data", "index.html"))
	w.WaitFor(env.ConfigMaps, "home", env.HasField("made with care", "data", "footer"))
	w.ClusterScope().WaitFor(env.Namespaces, w.Namespace+"-red", env.HasField("red", "metadata", "labels", "team"))
}

// TestNameSuffix shows what docs/migrate.md says of kustomize: with a suffix on its name, a
// ConfigMap is not what the definition names, also with a nameReference.
func TestNameSuffix(t *testing.T) {
	directory := filepath.Join(snippets(t), "greetings")
	name := filepath.Join(directory, "kustomization.yaml")
	text, err := os.ReadFile(name)
	env.NoError(t, err)
	const reference = "configurations: [references.yaml]\n"
	suffixed := strings.Replace(string(text), "disableNameSuffixHash: true", "", 1) + reference
	references := "nameReference:\n- kind: ConfigMap\n  version: v1\n  fieldSpecs:\n  - {kind: CompositeController, path: spec/scriptSources/configMap/name}\n"
	for name, content := range map[string]string{name: suffixed, filepath.Join(directory, "references.yaml"): references} {
		env.NoError(t, os.WriteFile(name, []byte(content), 0o600))
	}
	built, err := cluster.Get(t).Kubectl(t.Context(), "kustomize", directory)
	env.NoError(t, err)
	if !strings.Contains(built, "name: greetings-hooks-") || !strings.Contains(built, "      name: greetings-hooks\n") {
		t.Errorf("kustomize has learnt to follow the reference: correct docs/migrate.md\n%s", built)
	}
}

// TestHooksOfOthers runs hooks as others wrote them: one that needs a package, which a
// ConfigMap has by items, and one that imports a library that it does not use.
func TestHooksOfOthers(t *testing.T) {
	w := env.New(t)
	w.Apply(env.CRD(w.Group, "Thing", "Namespaced"))
	w.Start()
	w.Apply(`
apiVersion: v1
kind: ConfigMap
metadata: {name: hooks}
data:
  sync.js: |
    const names = require("@acme/names");
    module.exports = { default: { sync: ({ parent }) => ({ children: [names.configMap(parent)] }) } };
  sync.jsonnet: |
    local k = import 'k.libsonnet';
    function(request) { children: [] }
---
apiVersion: v1
kind: ConfigMap
metadata: {name: names}
data:
  package.json: '{"name": "@acme/names", "exports": {".": "./lib/names.js"}}'
  names.js: |
    exports.configMap = ({ metadata: { name } }) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data: { of: name } });
`)
	define := func(name, script, sources string) string {
		full := w.Namespace + "-" + name
		w.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec:
  generateSelector: true
  parentResource: {apiVersion: %[2]s/v1, resource: things, labelSelector: {matchLabels: {set: %[3]s}}}
  childResources: [{apiVersion: v1, resource: configmaps}]
  scriptSources:
  - configMap: {namespace: %[4]s, name: hooks}
%[5]s
  hooks: {sync: {version: v2, script: {path: %[6]s}}}
`, full, w.Group, name, w.Namespace, sources, script))
		t.Cleanup(func() { w.Delete(env.CompositeControllers, "", full) })
		return full
	}
	packaged := define("packaged", "sync.js", fmt.Sprintf(`  - configMap:
      namespace: %s
      name: names
      prefix: node_modules/@acme/names
      items: [{key: package.json, path: package.json}, {key: names.js, path: lib/names.js}]`, w.Namespace))
	w.WaitForCondition(packaged, "ScriptsReady", "True", "serves")
	w.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: a, labels: {set: packaged}}, spec: {}}`, w.Group))
	w.WaitFor(env.ConfigMaps, "a", func(*unstructured.Unstructured) error { return nil })
	lazy := define("lazy", "sync.jsonnet", "")
	w.WaitForCondition(lazy, "Ready", "True")
	w.WaitForCondition(lazy, "ScriptsReady", "True", "serves, with warnings\n",
		"ConfigMap "+w.Namespace+`/hooks: sync.jsonnet:1:11: can't import "k.libsonnet": there is no file "k.libsonnet": there are sync.js, sync.jsonnet`)
}
