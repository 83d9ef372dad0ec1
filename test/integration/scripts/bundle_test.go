package scripts_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// bundled returns what libretto bundle prints for a controller whose sync.js says a text that it imports.
func bundled(e *env.Env, name, text string) string {
	e.T.Helper()
	return bundledOf(e, fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %s, labels: {test: %s}}
spec:
  generateSelector: true
  parentResource: {apiVersion: %s/v1, resource: things}
  scriptSources: [%s]
  hooks: {sync: {version: v2, script: {path: sync.js}}}
`, name, e.Namespace, e.Group, source(e, "hooks")), map[string]string{
		"src/sync.js":      "import { text } from './text.js';\n" + strings.Replace(scriptSaying("TEXT"), `"TEXT"`, "text", 1),
		"src/text.js":      fmt.Sprintf("export const text = %q;\n", text),
		"src/sync.test.js": "import { test } from 'libretto/test';\ntest('is no part of the bundle', () => {});\n",
	})
}

// bundledOf returns what libretto bundle prints for a definition and the files in the folder src.
func bundledOf(e *env.Env, definition string, files map[string]string) string {
	e.T.Helper()
	dir := e.T.TempDir()
	files["definition.yaml"] = definition
	for file, content := range files {
		env.NoError(e.T, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		env.NoError(e.T, os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644))
	}
	libretto, err := cluster.Binary("libretto")
	e.NoError(err)
	command := exec.CommandContext(e.T.Context(), libretto, "bundle", "-f", filepath.Join(dir, "definition.yaml"),
		"--scripts", e.Namespace+"/hooks="+filepath.Join(dir, "src"))
	var errs strings.Builder
	command.Stderr = &errs
	out, err := command.Output()
	if err != nil {
		e.T.Fatalf("%v: %s", err, errs.String())
	}
	return string(out)
}

// A host loads a bundle that kubectl applied, and the next one with the definition that names it. A ConfigMap that is no bundle does not
// take the place of the one that serves.
func TestBundle(t *testing.T) {
	t.Parallel()
	e := newRunning(t)
	name := e.Namespace + "-bundled"
	e.T.Cleanup(func() { e.Delete(env.Definitions(env.Composite), "", name) })
	apply := func(text string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), "bundle.yaml")
		env.NoError(t, os.WriteFile(file, []byte(text), 0o644))
		e.Kubectl("apply", "-f", file)
	}
	first := bundled(e, name, "one")
	apply(first)
	e.ApplyThing("a", "", "")
	waitForSaid(e, "a", "one")
	apply(bundled(e, name, "one")) // Unchanged: an immutable ConfigMap could not be written again.
	apply(bundled(e, name, "two"))
	waitForSaid(e, "a", "two")
	apply(first) // Back to the first, whose ConfigMap is still there.
	waitForSaid(e, "a", "one")

	forged := configMap("forged")
	delete(forged.Object, "data")
	forged.Object["binaryData"] = map[string]any{"bundle.tar.gz": base64.StdEncoding.EncodeToString([]byte("no archive, whatever its name says"))}
	e.ApplyObject(forged)
	e.PatchDefinition(env.Composite, name, fmt.Sprintf(`{"spec": {"scriptSources": [%s]}}`,
		fmt.Sprintf(`{"configMap": {"namespace": %q, "name": "forged"}}`, e.Namespace)))
	e.WaitForCondition(name, "ScriptsReady", "False", "ScriptInvalid", "ConfigMap "+e.Namespace+"/forged: bundle.tar.gz: ",
		"write it with libretto bundle")
	waitForSaid(e, "a", "one")
}
