package bundle

import (
	"encoding/base64"
	"fmt"
	"math/rand"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

const vendored = `apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: large}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  attachments: [{apiVersion: v1, resource: configmaps}]
  scriptSources: [{directory: {path: app}}]
  hooks: {sync: {script: {path: sync.jsonnet}}}
`

// writeFiles writes files below a folder.
func writeFiles(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		at := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writeVendored writes a controller with a generated library of about size bytes below vendor, as jsonnet-bundler lays it out, which it
// uses a tenth of.
func writeVendored(t *testing.T, size int) {
	t.Helper()
	t.Chdir(t.TempDir())
	const lib = "src/app/vendor/github.com/org/lib"
	var used, all strings.Builder
	files, n := map[string]string{}, 0
	for ; size > 0; n++ {
		var text strings.Builder
		fmt.Fprintf(&text, "{\n  name: 'kind%d',\n", n)
		for field := 0; text.Len() < 2000; field++ {
			fmt.Fprintf(&text, "  withField%[1]d(value):: { spec+: { field%[1]d: value } },\n", n*100+field)
		}
		text.WriteString("}\n")
		name := fmt.Sprintf("gen/v%d/kind%d.libsonnet", n%10, n)
		files[lib+"/"+name] = text.String()
		size -= text.Len()
		fmt.Fprintf(&all, "  kind%d: import '%s',\n", n, name)
		if n%10 == 0 {
			fmt.Fprintf(&used, "  kind%d: import '%s',\n", n, name)
		}
	}
	files[lib+"/main.libsonnet"] = "{\n" + all.String() + "}\n"
	files[lib+"/some.libsonnet"] = "{\n" + used.String() + "}\n"
	files[lib+"/lib_test.jsonnet"] = "error 'the tests of a library are not run'"
	files["src/app/jsonnetfile.json"] = `{"version": 1, "dependencies": [], "legacyImports": true}`
	files["src/app/sync.jsonnet"] = "local lib = import 'lib/some.libsonnet';\nfunction(request) { attachments: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: lib.kind0.name } }] }\n"
	files["src/app/sync_test.jsonnet"] = "{ 'has a name': (import 'github.com/org/lib/some.libsonnet').kind10.name == 'kind10' }\n"
	files["definition.yaml"] = vendored
	files["pod.yaml"] = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, image: a}]}}\n"
	writeFiles(t, ".", files)
	if err := os.Symlink("github.com/org/lib", "src/app/vendor/lib"); err != nil {
		t.Fatal(err)
	}
}

// TestLargeTreesOffline runs what authors run on a hook with a library of 2 MiB, which has two names.
func TestLargeTreesOffline(t *testing.T) {
	writeVendored(t, 2<<20)
	flags := []string{"-f", "definition.yaml", "--scripts-dir", "src"}
	timed := func(want int, args ...string) (stdout, stderr string) {
		t.Helper()
		began := time.Now()
		code, stdout, stderr := program.Run(t, "", args...)
		took := time.Since(began)
		if t.Logf("libretto %s: %s", args[0], took.Round(time.Millisecond)); code != want {
			t.Errorf("libretto %s: exit code %d, want %d\n%.2000s%.2000s", args[0], code, want, stdout, stderr)
		}
		return stdout, stderr
	}
	checked, _ := timed(0, append([]string{"check"}, flags...)...)
	if strings.Count(checked, "\n") != 2 || !strings.Contains(checked, "files of libraries") ||
		!strings.Contains(checked, "libretto bundle packs only what the hooks reach") || !strings.Contains(checked, "no problems") {
		t.Errorf("check is not one note:\n%.2000s", checked)
	}
	rendered, _ := timed(0, append([]string{"render", "-f", "pod.yaml"}, flags...)...)
	if !strings.Contains(rendered, "name: kind0") {
		t.Errorf("render:\n%.2000s", rendered)
	}
	if tested, stderr := timed(0, "test", "src"); !strings.Contains(tested, "1 passed") {
		t.Errorf("test, which leaves the tests of libraries alone:\n%.2000s%.2000s", tested, stderr)
	}
	bundled, summary := timed(0, append([]string{"bundle"}, flags...)...)
	if kept := strings.Count(summary, "\n"); kept > 3 || !strings.Contains(summary, "more (") || strings.Contains(summary, "main.libsonnet,") {
		t.Errorf("bundle says in %d lines:\n%.3000s", kept, summary)
	}
	if size := len(bundled); size > 200<<10 {
		t.Errorf("a bundle of a tenth of the library has %d KiB", size>>10)
	}
	writeFiles(t, "bundled", map[string]string{"bundle.yaml": bundled})
	again, _ := timed(0, "render", "-f", "pod.yaml", "-f", "bundled")
	if !strings.Contains(again, "name: kind0") {
		t.Errorf("render of the bundle:\n%.2000s", again)
	}
}

// TestBundlesOfSeveralConfigMaps bundles what does not fit into one.
func TestBundlesOfSeveralConfigMaps(t *testing.T) {
	t.Chdir(t.TempDir())
	random := rand.New(rand.NewSource(1))
	files, imports := map[string]string{"definition.yaml": vendored}, ""
	for n := range 4 {
		noise := make([]byte, 500<<10)
		random.Read(noise)
		files[fmt.Sprintf("src/app/text%d.txt", n)] = base64.StdEncoding.EncodeToString(noise)
		imports += fmt.Sprintf(" + std.length(importstr 'text%d.txt')", n)
	}
	files["src/app/sync.jsonnet"] = "local n = 0" + imports + ";\nfunction(request) { attachments: [{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'n' + n } }] }\n"
	files["pod.yaml"] = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: default}, spec: {containers: [{name: a, image: a}]}}\n"
	writeFiles(t, ".", files)
	code, bundled, stderr := program.Run(t, "", "bundle", "-f", "definition.yaml", "--scripts-dir", "src")
	if n := strings.Count(bundled, "kind: ConfigMap\n"); code != 0 || n < 2 || n > 3 || strings.Count(bundled, "immutable: true") != n {
		t.Errorf("exit code %d, %d ConfigMaps: %.1000s", code, n, stderr)
	}
	if !strings.Contains(stderr, "use kubectl apply --server-side") {
		t.Errorf("nothing is said about kubectl apply: %.1000s", stderr)
	}
	writeFiles(t, "bundled", map[string]string{"bundle.yaml": bundled})
	if code, out, stderr := program.Run(t, "", "render", "-f", "pod.yaml", "-f", "bundled"); code != 0 || !strings.Contains(out, "name: n2730672") {
		t.Errorf("render of the bundle: %d, %.2000s%.2000s", code, out, stderr)
	}

	noise := make([]byte, 2<<20)
	random.Read(noise)
	writeFiles(t, ".", map[string]string{"src/app/text0.txt": base64.StdEncoding.EncodeToString(noise)})
	code, _, stderr = program.Run(t, "", "bundle", "-f", "definition.yaml", "--scripts-dir", "src")
	if code != cli.ExitCannot || !strings.Contains(stderr, "text0.txt has 2056 KiB when it is packed, and a ConfigMap takes no more than 1024") {
		t.Errorf("a file that fits into no ConfigMap: exit code %d, %.1000s", code, stderr)
	}
}
