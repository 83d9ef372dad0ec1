package types

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// TestDeclare compares the declarations of each case's files with the part resources.d.ts, and checks the part script.ts against them
// with tsc, if the machine has it. kubernetes-types is looked for beside it.
func TestDeclare(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txtar"))
	if err != nil || len(files) < 3 {
		t.Fatalf("%d cases: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { testDeclare(t, file) })
	}
}

func testDeclare(t *testing.T, path string) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	directory := t.TempDir()
	var options Options
	var inputs []string
	want, at := "", len(archive.Files)
	for i, f := range archive.Files {
		name := filepath.Join(directory, f.Name)
		switch {
		case f.Name == "resources.d.ts":
			want, at = string(f.Data), i
			continue
		case f.Name == "options":
			options.KubernetesTypes = strings.TrimSpace(string(f.Data)) == "kubernetes-types"
		case filepath.Ext(f.Name) == ".yaml":
			inputs = append(inputs, name)
		}
		write(t, name, string(f.Data))
	}
	set, err := manifest.Load(t.Context(), manifest.Options{Filenames: inputs})
	if err == nil {
		err = set.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	declared, err := Declare(set, options)
	if err != nil {
		t.Fatal(err)
	}
	got := declared.Text
	for _, kind := range declared.Untyped {
		got += "// untyped: " + kind + "\n"
	}
	for _, resource := range declared.Unknown {
		got += "// unknown: " + resource + "\n"
	}
	write(t, filepath.Join(directory, "resources.d.ts"), got)
	if *clitest.Update {
		archive.Files = append(archive.Files[:at:at], txtar.File{Name: "resources.d.ts", Data: []byte(got)})
		write(t, path, string(txtar.Format(archive)))
	} else if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if result := api.Transform(got, api.TransformOptions{Loader: api.LoaderTS}); len(result.Errors) > 0 {
		t.Errorf("the declarations do not parse: %+v", result.Errors)
	}
	typeCheck(t, directory, options)
}

// typeCheck runs tsc on a directory, if there is one.
func typeCheck(t *testing.T, directory string, options Options) {
	t.Helper()
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Log("there is no tsc on this machine: npm install --global typescript kubernetes-types")
		return
	}
	if options.KubernetesTypes {
		resolved, err := filepath.EvalSymlinks(tsc)
		if err != nil {
			t.Fatal(err)
		}
		modules := filepath.Join(filepath.Dir(resolved), "..", "..")
		if _, err := os.Stat(filepath.Join(modules, "kubernetes-types")); err != nil {
			t.Log("there is no kubernetes-types beside tsc: npm install --global kubernetes-types")
			return
		}
		if err := os.Symlink(modules, filepath.Join(directory, "node_modules")); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(directory, "libretto.d.ts"), authoring.Declarations)
	write(t, filepath.Join(directory, "tsconfig.json"), authoring.Project)
	if said, err := exec.Command(tsc, "--project", directory).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, said)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
