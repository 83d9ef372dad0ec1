package offline

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// offlineOutput returns what a command without a cluster prints.
func offlineOutput(e *env.Env, args ...string) []byte {
	e.T.Helper()
	program, err := cluster.Binary("libretto")
	e.NoError(err)
	out, err := exec.CommandContext(e.T.Context(), program, args...).Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = fmt.Errorf("libretto %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	e.NoError(err)
	return out
}

// checkRevisions checks that the host gives the scripts of the definitions in a file or folder, which are applied, the IDs that libretto revision
// prints. It returns how many they are.
func checkRevisions(e *env.Env, path string) int {
	e.T.Helper()
	var printed []struct{ Kind, Name, Revision string }
	e.NoError(json.Unmarshal(offlineOutput(e, "revision", "-f", path, "-o", "json"), &printed))
	for _, p := range printed {
		e.Eventually(func() error {
			definition := e.ClusterScope().Get(env.Definitions(p.Kind), p.Name)
			if definition == nil {
				return fmt.Errorf("there is no %s %s", p.Kind, p.Name)
			}
			hash, _, err := unstructured.NestedString(definition.Object, "status", "scriptRevisionHash")
			if err == nil && (hash != p.Revision || len(hash) != 64) {
				err = fmt.Errorf("%s %s: the host has revision %s, and libretto revision prints %s", p.Kind, p.Name, hash, p.Revision)
			}
			return err
		})
	}
	return len(printed)
}

// TestRevision compares the IDs of a definition whose scripts come from several sources, with all that may be written in several ways.
func TestRevision(t *testing.T) {
	e := env.NewWithThings(t)
	e.Start()
	folder := t.TempDir()
	write := func(name, text string) {
		env.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(replace(text, e)), 0o600))
	}
	write("controller.yaml", `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: NAMESPACE}
spec:
  generateSelector: true
  parentResource: {apiVersion: GROUP/v1, resource: things}
  childResources: [{apiVersion: v1, resource: configmaps}]
  scriptSources:
  - configMap: {namespace: NAMESPACE, name: main}
  - configMap: {namespace: NAMESPACE, name: library, prefix: lib, items: [{key: greet.ts, path: deep/greet.ts}]}
  scriptRollout: {paused: false}
  hooks:
    sync:
      version: v2
      script: {path: sync.ts, timeout: 1s, limits: {memory: 64Mi}, parameters: {whole: 1.0, large: 1e3, float: 1.50, long: 9007199254740993, text: "1.0", list: [yes, ~, {}], none: {}}}
    finalize: {version: v2, script: {engine: Jsonnet, inline: "function(request) {finalized: true, children: []}\n"}}
`)
	write("scripts.yaml", `
apiVersion: v1
kind: ConfigMap
metadata: {name: main, namespace: NAMESPACE, annotations: {a: b}}
data:
  sync.ts: |
    import { greet } from "./lib/deep/greet";
    export const sync = ({ parent }: any) => ({ status: { said: greet(parent.metadata.name) }, children: [] });
  empty.json: ""
  notes.md: "trailing  \r\n\ttab, é, \u2028 and no end"
binaryData: {data.json: `+base64.StdEncoding.EncodeToString([]byte("{\"a\": 1}\n"))+`}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: library, namespace: NAMESPACE}
data:
  greet.ts: |-
    export const greet = (name: string): string => name;
  unused.js: not taken
`)
	e.Kubectl("apply", "--validate=strict", "-f", folder)
	if n := checkRevisions(e, folder); n != 1 {
		t.Fatalf("%d definitions, want one", n)
	}

	packed := filepath.Join(t.TempDir(), "bundled.yaml") // The files that no hook reaches are not in it: another revision.
	env.NoError(t, os.WriteFile(packed, offlineOutput(e, "bundle", "-f", folder), 0o600))
	e.Kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-f", packed)
	checkRevisions(e, packed)

	write("kustomization.yaml", `
resources: [controller.yaml]
configMapGenerator:
- {name: main, namespace: NAMESPACE, files: [sync.ts]}
- {name: library, namespace: NAMESPACE, files: [greet.ts]}
generatorOptions: {disableNameSuffixHash: true}
`)
	write("sync.ts", "import { greet } from \"./lib/deep/greet\";\nexport const sync = () => ({ status: { said: greet(\"all\") }, children: [] });\n")
	write("greet.ts", "export const greet = (name: string): string => `Hello, ${name}!`;")
	env.NoError(t, os.Remove(filepath.Join(folder, "scripts.yaml")))
	e.Kubectl("delete", "configmap", "--namespace="+e.Namespace, "main", "library")
	e.Kubectl("apply", "--server-side", "--force-conflicts", "--validate=strict", "-k", folder)
	checkRevisions(e, folder)
}

func replace(text string, e *env.Env) string {
	return strings.NewReplacer("NAMESPACE", e.Namespace, "GROUP", e.Group).Replace(text)
}
