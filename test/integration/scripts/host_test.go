package scripts_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// start runs a libretto that hosts only this test's definitions.
func start(e *env.Env, flags ...string) {
	e.T.Helper()
	e.Start(append([]string{"--target-label-selector=test=" + e.Namespace, "--namespace=" + e.Namespace}, flags...)...)
}

// newRunning returns an Env that has Things and runs libretto as start does.
func newRunning(t *testing.T, flags ...string) *env.Env {
	t.Helper()
	e := env.NewWithThings(t)
	start(e, flags...)
	return e
}

// applyFiles applies a ConfigMap with files, given as keys and texts in turn.
func applyFiles(e *env.Env, name string, keysAndTexts ...string) {
	e.T.Helper()
	e.ApplyObject(configMap(name, keysAndTexts...))
}

func configMap(name string, keysAndTexts ...string) *unstructured.Unstructured {
	data := map[string]any{}
	for i := 0; i < len(keysAndTexts); i += 2 {
		data[keysAndTexts[i]] = keysAndTexts[i+1]
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": name}, "data": data,
	}}
}

// define applies a CompositeController of Things whose sync hook is sync.js of the sources, and returns its name.
func define(e *env.Env, suffix string, sources ...string) string {
	e.T.Helper()
	name := e.Namespace + suffix
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchExpressions: [{key: not%s, operator: DoesNotExist}]}}
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, name, e.Namespace, e.Group, suffix, strings.Join(sources, ", ")))
	return name
}

// source returns a script source: a ConfigMap of the test's namespace.
func source(e *env.Env, name string) string {
	return fmt.Sprintf("{configMap: {namespace: %s, name: %s}}", e.Namespace, name)
}

// scriptSaying returns a script that writes text to status.said.
func scriptSaying(text any) string {
	return fmt.Sprintf("export function sync() {\n  return {status: {said: \"%v\"}, children: []};\n}\n", text)
}

const broken = "export function sync() {\n  return );\n}\n"

// waitForSaid waits until a Thing's status.said is text.
func waitForSaid(e *env.Env, name string, text any) {
	e.T.Helper()
	e.WaitFor(e.Things(), name, env.HasSaid(text))
}

func said(o *unstructured.Unstructured) string {
	text, _, _ := unstructured.NestedString(o.Object, "status", "said")
	return text
}

// waitForReload waits until a definition's status has another revision than before, and returns it.
func waitForReload(e *env.Env, definition, before string) string {
	e.T.Helper()
	var now string
	e.Eventually(func() error {
		if now = e.ScriptRevision(definition); now == "" || now == before {
			return fmt.Errorf("%s serves revision %q, want another one than %q", definition, now, before)
		}
		return nil
	})
	return now
}

// waitUntilArchived waits until the ControllerRevision of a definition's serving scripts exists, and returns it.
func waitUntilArchived(e *env.Env, definition string) *unstructured.Unstructured {
	e.T.Helper()
	var found *unstructured.Unstructured
	e.Eventually(func() error {
		name := "composite-" + definition + "-" + e.ScriptRevision(definition)
		if found = e.Get(env.ScriptRevisions, name); found == nil {
			return fmt.Errorf("no ControllerRevision %s", name)
		}
		return nil
	})
	return found
}
