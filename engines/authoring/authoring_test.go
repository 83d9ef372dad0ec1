package authoring

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-jsonnet"
)

// TestSameNames shows that both modules have the same functions, and the types too.
func TestSameNames(t *testing.T) {
	vm := jsonnet.MakeVM()
	output, err := vm.EvaluateAnonymousSnippetMulti("names.jsonnet", "local m = "+Jsonnet+"; { [name]: '' for name in std.objectFieldsAll(m) }")
	if err != nil {
		t.Fatal(err)
	}
	var inJsonnet []string
	for name := range output {
		inJsonnet = append(inJsonnet, name)
	}
	slices.Sort(inJsonnet)
	if len(inJsonnet) < 5 {
		t.Fatalf("the Jsonnet module has only %q", inJsonnet)
	}
	for where, text := range map[string]string{"libretto.js": JavaScript, "libretto.d.ts": Declarations} {
		var names []string
		for _, m := range regexp.MustCompile(`(?m)^export function (\w+)`).FindAllStringSubmatch(text, -1) {
			names = append(names, m[1])
		}
		slices.Sort(names)
		if diff := cmp.Diff(inJsonnet, names); diff != "" {
			t.Errorf("functions of %s (-libretto.libsonnet +%s):\n%s", where, where, diff)
		}
	}
}

func TestHashRefuses(t *testing.T) {
	for _, value := range []any{3, []any{errors.New("boom")}, map[string]any{"a": struct{}{}}} {
		if sum, err := Hash(value); err == nil {
			t.Errorf("hash of %v: %s, want an error", value, sum)
		}
	}
}

// TestDeclarationsParse needs no TypeScript to be installed.
func TestDeclarationsParse(t *testing.T) {
	if result := api.Transform(Declarations, api.TransformOptions{Loader: api.LoaderTS}); len(result.Errors) > 0 {
		t.Errorf("libretto.d.ts: %+v", result.Errors)
	}
	if result := api.Transform("("+Project+")", api.TransformOptions{Loader: api.LoaderJS}); len(result.Errors) > 0 {
		t.Errorf("tsconfig.json: %+v", result.Errors)
	}
}

// TestTypeScript checks scripts as an author's editor would, if the machine has TypeScript.
func TestTypeScript(t *testing.T) {
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Skip("there is no tsc on this machine: npm install --global typescript")
	}
	directory := t.TempDir()
	if err := os.CopyFS(directory, os.DirFS(filepath.Join("testdata", "check"))); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"libretto.d.ts": Declarations, "tsconfig.json": Project} {
		if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if said, err := exec.Command(tsc, "--project", directory).CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, said)
	}
}
