package bundle

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command, check.Command, render.Command, test.Command}

// TestTranscripts runs the commands of each case.
func TestTranscripts(t *testing.T) {
	program.Compare(t, "testdata/*.txtar", 3, clitest.Examples)
}

// TestBundleAnswers checks for examples that what bundle prints has no errors, and that render answers the same with it.
func TestBundleAnswers(t *testing.T) {
	for _, name := range []string{"hello", "catset", "decorator", "map"} {
		t.Run(name, func(t *testing.T) {
			folder := filepath.Join(clitest.Examples, name)
			code, bundled, stderr := program.Run(t, "", "bundle", "-f", folder)
			if code != 0 {
				t.Fatal(stderr)
			}
			if _, again, _ := program.Run(t, "", "bundle", "-f", folder); again != bundled {
				t.Errorf("the second time it is another one:\n%s", cmp.Diff(bundled, again))
			}
			if strings.Count(bundled, "immutable: true") != strings.Count(bundled, "kind: ConfigMap\n") || !strings.Contains(bundled, "immutable: true") {
				t.Errorf("ConfigMaps that are not immutable, or none:\n%s", bundled)
			}
			if _, again, stderr := program.Run(t, bundled, "bundle", "-f", "-"); again != bundled {
				t.Errorf("a bundle of the bundle is another one: %s\n%s", stderr, cmp.Diff(bundled, again))
			}
			others := t.TempDir()
			copyWithoutDefinitions(t, folder, others)
			if err := os.WriteFile(filepath.Join(others, "bundle.yaml"), []byte(bundled), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, stdout, stderr := program.Run(t, "", "check", "-f", others); code != 0 {
				t.Errorf("check: %s%s", stdout, stderr)
			}
			objects := folder
			if parents := map[string]string{"catset": "catset.yaml", "decorator": "statefulset.yaml"}[name]; parents != "" {
				objects = filepath.Join(folder, parents) // The kustomization has none.
			}
			code, want, stderr := program.Run(t, "", "render", "-f", folder, "-f", objects, "--until-settled", "--now", "2026-01-01T00:00:00Z")
			if code != 0 {
				t.Fatal(stderr)
			}
			_, got, stderr := program.Run(t, "", "render", "-f", others, "--until-settled", "--now", "2026-01-01T00:00:00Z")
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\nrender (-files +bundle):\n%s", stderr, diff)
			}
		})
	}
}

// copyWithoutDefinitions copies the manifests of a folder without definitions and the ConfigMaps of their scripts.
func copyWithoutDefinitions(t *testing.T, from, to string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if filepath.Base(file) == "kustomization.yaml" {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			if !strings.Contains(document, "Controller\nmetadata") && !strings.Contains(document, ".js: |") {
				kept = append(kept, document)
			}
		}
		if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), []byte(strings.Join(kept, "\n---\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBrokenBundle checks that the place of an error in a bundle names the file in it.
func TestBrokenBundle(t *testing.T) {
	archive, err := txtar.ParseFile(filepath.Join("testdata", "imports.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := filepath.Abs(filepath.Join("testdata", "imports.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	clitest.Unpack(t, path)
	if len(archive.Files) == 0 {
		t.Fatal("no files")
	}
	code, bundled, stderr := program.Run(t, "", "bundle", "-f", "app.yaml", "--scripts", "hooks/app=src")
	if code != 0 {
		t.Fatal(stderr)
	}
	broken := strings.Replace(bundled, "path: sync.js", "path: lib/none.js", 1)
	code, stdout, _ := program.Run(t, broken, "check", "-f", "-")
	if code != cli.ExitProblems || !strings.Contains(stdout, `no file "lib/none.js" in the script sources: they have customize.cel,`) {
		t.Errorf("exit code %d: %s", code, stdout)
	}
	at := strings.Index(bundled, "H4sI") + 40
	code, stdout, _ = program.Run(t, bundled[:at]+"AAAAAAAA"+bundled[at+8:], "check", "-f", "-")
	if code != cli.ExitProblems || !strings.Contains(stdout, "bundle.tar.gz: flate: corrupt input") || !strings.Contains(stdout, "write it with libretto bundle") {
		t.Errorf("of a damaged one, exit code %d: %s", code, stdout)
	}
}
