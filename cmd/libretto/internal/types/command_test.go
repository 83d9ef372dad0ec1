package types

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

func TestTypes(t *testing.T) {
	tests := withStamp("", authoring.TestDeclarations)
	fresh := map[string]string{"libretto.d.ts": withStamp("", authoring.Declarations), "libretto-test.d.ts": tests, "tsconfig.json": authoring.Project}
	older := codeStart + "0.1" + stampSum + checksum("// old\n") + "\n// old\n"
	cases := map[string]struct {
		reason string
		there  map[string]string
		force  bool
		want   map[string]string
		fails  bool
	}{
		"Empty":     {reason: "all are written", want: fresh},
		"Again":     {reason: "writing again changes nothing", there: fresh, want: fresh},
		"Older":     {reason: "a new version replaces what an old one wrote", there: map[string]string{"libretto.d.ts": older}, want: fresh},
		"LineEnds":  {reason: "git's line ends are no edit", there: map[string]string{"libretto.d.ts": strings.ReplaceAll(older, "\n", "\r\n")}, want: fresh},
		"Edited":    {reason: "an edit is not lost", there: map[string]string{"libretto.d.ts": older + "// mine\n"}, want: map[string]string{"libretto.d.ts": older + "// mine\n"}, fails: true},
		"NotOurs":   {reason: "nor is a foreign file", there: map[string]string{"libretto.d.ts": "mine"}, want: map[string]string{"libretto.d.ts": "mine"}, fails: true},
		"Project":   {reason: "existing settings are kept", there: map[string]string{"tsconfig.json": "{}"}, want: map[string]string{"libretto.d.ts": fresh["libretto.d.ts"], "libretto-test.d.ts": tests, "tsconfig.json": "{}"}},
		"Force":     {reason: "--force replaces all", there: map[string]string{"libretto.d.ts": "mine", "tsconfig.json": "{}"}, force: true, want: fresh},
		"OtherFile": {reason: "other files are not changed", there: map[string]string{"sync.ts": "x"}, want: map[string]string{"libretto.d.ts": fresh["libretto.d.ts"], "libretto-test.d.ts": tests, "tsconfig.json": fresh["tsconfig.json"], "sync.ts": "x"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(c.reason)
			directory := t.TempDir()
			for name, text := range c.there {
				if err := os.WriteFile(filepath.Join(directory, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			args := []string{"types", "--directory", directory}
			if c.force {
				args = append(args, "--force")
			}
			var out bytes.Buffer
			err := cli.NewRoot(cli.Process{Args: args, Stdout: &out, Stderr: &out}, program...).ExecuteContext(t.Context())
			if (err != nil) != c.fails || err != nil && !strings.Contains(err.Error(), "--force") {
				t.Errorf("error %v, want one that names --force: %v", err, c.fails)
			}
			if diff := cmp.Diff(c.want, filesIn(t, directory)); diff != "" {
				t.Errorf("files (-want +got):\n%s", diff)
			}
		})
	}
}

func filesIn(t *testing.T, directory string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(directory)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[entry.Name()] = string(text)
	}
	return files
}

// TestTypesOfResources checks the files that --crd adds. What they hold is tested in cmd/libretto/internal/types.
func TestTypesOfResources(t *testing.T) {
	examples, err := filepath.Abs(clitest.Examples)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for name, c := range map[string]struct {
		args           []string
		code           int
		stdout, stderr string
		contains       string
	}{
		"a definition": {
			args:   []string{"--crd", examples + "/hello"},
			stdout: "wrote libretto.d.ts\nwrote libretto-test.d.ts\nwrote resources.d.ts\nwrote tsconfig.json\n",
			stderr: "the fields of ConfigMap are not checked: npm install --save-dev kubernetes-types, and add --kubernetes-types\n", contains: "interface Greeting {",
		},
		"the package": {
			args:   []string{"--crd", examples + "/hello", "--kubernetes-types", "--directory", "a"},
			stdout: "wrote a/libretto.d.ts\nwrote a/libretto-test.d.ts\nwrote a/resources.d.ts\nwrote a/tsconfig.json\n",
		},
		"a definition alone": {
			args:   []string{examples + "/webapp/base/controller.yaml", "--directory", "b"},
			stdout: "wrote b/libretto.d.ts\nwrote b/libretto-test.d.ts\nwrote b/resources.d.ts\nwrote b/tsconfig.json\n",
			stderr: "the fields of Deployment, Service, Ingress are not checked: npm install --save-dev kubernetes-types, and add --kubernetes-types\n" +
				"the fields of webapps of ctl.example.com/v1 are not checked: the CustomResourceDefinition is not among the files of --crd\n",
		},
		"nothing of it": {
			args: []string{"--crd", examples + "/hello/greeting.yaml"}, code: cli.ExitCannot,
			stderr: "libretto: --crd " + examples + "/hello/greeting.yaml: there is no CustomResourceDefinition and no definition among the files\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program.Run(t, "", append([]string{"types"}, c.args...)...)
			if diff := cmp.Diff([]any{c.code, c.stdout, c.stderr}, []any{code, stdout, stderr}); diff != "" {
				t.Errorf("exit code and output (-want +got):\n%s", diff)
			}
			if text, _ := os.ReadFile("resources.d.ts"); !strings.Contains(string(text), c.contains) {
				t.Errorf("resources.d.ts does not contain %s:\n%s", c.contains, text)
			}
		})
	}
}

// TestTypesSchemas checks the files of --schemas, that they are written again, and that an edit is not lost.
func TestTypesSchemas(t *testing.T) {
	examples, err := filepath.Abs(clitest.Examples)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	args := []string{"types", "--schemas", "schemas", "--crd", examples + "/hello"}
	want := "wrote schemas/compositecontroller.schema.json\nwrote schemas/controllertest.schema.json\nwrote schemas/decoratorcontroller.schema.json\n" +
		"wrote schemas/mapcontroller.schema.json\nwrote schemas/greeting.ctl.example.com_v1.schema.json\n"
	for range 2 {
		code, stdout, stderr := program.Run(t, "", args...)
		if diff := cmp.Diff(want, stdout); diff != "" || code != 0 {
			t.Errorf("exit code %d, %s(-want +got):\n%s", code, stderr, diff)
		}
	}
	path := filepath.Join("schemas", "controllertest.schema.json")
	text, err := os.ReadFile(path)
	if err != nil || !json.Valid(text) {
		t.Fatalf("%v: %s", err, text)
	}
	edited := strings.Replace(string(text), "ControllerTest", "MyTest", 1)
	if err := os.WriteFile(path, []byte(edited), 0o644); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program.Run(t, "", args...); code != cli.ExitCannot || !strings.Contains(stderr, path+" was edited") {
		t.Errorf("an edited file: exit code %d: %s", code, stderr)
	}
}
