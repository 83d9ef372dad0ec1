package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/scripts"
)

// TestFindings checks the files of each case, and compares the text with its last file, want.
func TestFindings(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(cases) < 15 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range cases {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			path, err := filepath.Abs(path)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(unpack(t, archive))
			got := findings(t, registry)
			last := &archive.Files[len(archive.Files)-1]
			if last.Name != "want" {
				t.Fatalf("the last file is %s: it must be want", last.Name)
			}
			if *clitest.Update {
				last.Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(string(last.Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func findings(t *testing.T, registry *engines.Registry) string {
	t.Helper()
	set, err := manifest.Load(t.Context(), manifest.Options{Filenames: []string{"."}})
	if err != nil {
		t.Fatal(err)
	}
	result, err := Run(t.Context(), set, registry)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := result.Write(&text, "text", false); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

// unpack writes all files but the last one into a directory.
func unpack(t *testing.T, archive *txtar.Archive) string {
	t.Helper()
	directory := t.TempDir()
	for _, f := range archive.Files[:len(archive.Files)-1] {
		path := filepath.Join(directory, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return directory
}

// TestFolderOfScripts checks that an import says which file --scripts leaves out, because it is in a folder.
func TestFolderOfScripts(t *testing.T) {
	registry, err := engines.NewRegistry(engines.Config{}, standard.Definitions()...)
	if err != nil {
		t.Fatal(err)
	}
	for entry, texts := range map[string]map[string]string{
		"sync.js": {"src/sync.js": "import x from './vendor/x';\nexport const sync = () => x;", "src/vendor/x.js": "export default {};"},
		"sync.jsonnet": {
			"src/sync.jsonnet":                   "import 'example.com/x.libsonnet'",
			"src/vendor/example.com/x.libsonnet": "{}",
		},
	} {
		t.Run(entry, func(t *testing.T) {
			texts["a.yaml"] = "apiVersion: metacontroller.k8s.io/v1alpha1\nkind: DecoratorController\nmetadata: {name: a}\nspec:\n" +
				"  resources: [{apiVersion: v1, resource: pods}]\n  scriptSources: [{configMap: {namespace: default, name: hooks}}]\n" +
				"  hooks: {sync: {script: {path: " + entry + "}}}\n"
			var archive txtar.Archive
			for name, text := range texts {
				archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
			}
			t.Chdir(unpack(t, &txtar.Archive{Files: append(archive.Files, txtar.File{Name: "want"})}))
			set, err := manifest.Load(t.Context(), manifest.Options{
				Filenames: []string{"a.yaml"}, Scripts: map[scripts.ObjectName]string{scripts.ConfigMapName("default", "hooks"): "src"},
			})
			if err != nil {
				t.Fatal(err)
			}
			result, err := Run(t.Context(), set, registry)
			if err != nil {
				t.Fatal(err)
			}
			var text bytes.Buffer
			if err := result.Write(&text, "text", false); err != nil {
				t.Fatal(err)
			}
			const want = " is left out, as --scripts default/hooks=src takes no folders, because a ConfigMap has none: deploy with libretto bundle"
			if !strings.Contains(text.String(), "src/"+entry+":1") || !strings.Contains(text.String(), ": src/vendor/") || !strings.Contains(text.String(), want) {
				t.Errorf("said\n%s, want the place and\n%s", &text, want)
			}
		})
	}
}
