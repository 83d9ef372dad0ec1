package scaffold

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/types"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command, check.Command, render.Command, test.Command, types.Command}

// TestInit makes each kind of controller in each language, and checks that a newcomer can go on with it: it has no warnings, it builds,
// it renders and settles, and its own test passes.
func TestInit(t *testing.T) {
	for _, variant := range Variants {
		for _, language := range Languages {
			t.Run(variant+"/"+language, func(t *testing.T) { testInit(t, variant, language) })
		}
	}
}

func testInit(t *testing.T, variant, language string) {
	t.Chdir(t.TempDir())
	code, stdout, stderr := program.Run(t, "", "init", variant, "--lang", language, "my-app")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	checkWritten(t, stdout)
	for _, args := range [][]string{
		{"check", "--strict", "-f", "my-app"},
		{"check", "--strict", "-f", "my-app/definition.yaml", "-f", "my-app", "-f", "my-app/example.yaml"},
		{"render", "my-app", "my-app/example.yaml", "-o", "diff", "--until-settled"},
		{"test", "my-app"},
		{"test", "my-app", "--explore", "--explore-paths", "30"},
	} {
		if code, stdout, stderr := program.Run(t, "", args...); code != 0 || stdout == "" {
			t.Errorf("libretto %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
		}
	}
	if language == "ts" || language == "js" {
		checkTypes(t)
	}
	if code, _, stderr := program.Run(t, "", "init", variant, "--lang", language, "my-app"); code != 2 || !strings.Contains(stderr, "my-app/README.md") {
		t.Errorf("again: exit code %d: %s", code, stderr)
	}
}

// checkWritten checks that init names each file that it wrote.
func checkWritten(t *testing.T, stdout string) {
	t.Helper()
	err := filepath.WalkDir("my-app", func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.Contains(stdout, "wrote "+path+"\n") {
			t.Errorf("init wrote %s, and did not say so:\n%s", path, stdout)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// checkTypes checks that the command that README.md names writes the same types, with which the script passes tsc, if there is one.
func checkTypes(t *testing.T) {
	t.Helper()
	before, err := os.ReadFile("my-app/resources.d.ts")
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := program.Run(t, "", "types", "--crd", "my-app", "--directory", "my-app"); code != 0 {
		t.Errorf("types: exit code %d: %s", code, stderr)
	}
	after, err := os.ReadFile("my-app/resources.d.ts")
	if diff := cmp.Diff(string(before), string(after)); diff != "" || err != nil {
		t.Errorf("types writes others: %v\n%s", err, diff)
	}
	tsc, err := exec.LookPath("tsc")
	if err != nil {
		t.Log("there is no tsc on this machine: npm install --global typescript")
		return
	}
	if said, err := exec.Command(tsc, "--project", "my-app").CombinedOutput(); err != nil {
		t.Errorf("tsc: %v\n%s", err, said)
	}
}

// TestInitFindsFaults checks that the tests of the templates fail if their scripts have a fault.
func TestInitFindsFaults(t *testing.T) {
	for variant, c := range map[string]struct {
		script string
		faults map[string]string
	}{
		"composite": {"sync.js", map[string]string{
			"name, replicas, podSpec": "name, podSpec", "?? 0": "?? 1", "{ readyReplicas:": "{ ready:", "targetPort: port": "targetPort: 1", "image, ports": "image: name, ports",
		}},
		"decorator": {"hooks.js", map[string]string{
			"text : Number(text)": "1 : Number(text)", "finalized: true": "finalized: false", "selector: object.spec?.selector": "selector: {}",
		}},
		"map": {"map.js", map[string]string{"parent.spec.pods": "1", "name: parent.metadata.name": "name: input.metadata.name"}},
	} {
		t.Run(variant, func(t *testing.T) {
			t.Chdir(t.TempDir())
			if code, _, stderr := program.Run(t, "", "init", variant, "--lang", "js", "--dir", "."); code != 0 {
				t.Fatal(stderr)
			}
			good, err := os.ReadFile(c.script)
			if err != nil {
				t.Fatal(err)
			}
			for from, to := range c.faults {
				if strings.Count(string(good), from) != 1 {
					t.Fatalf("%s: there is no single %q in\n%s", c.script, from, good)
				}
				if err := os.WriteFile(c.script, []byte(strings.Replace(string(good), from, to, 1)), 0o644); err != nil {
					t.Fatal(err)
				}
				if code, stdout, stderr := program.Run(t, "", "test", "."); code != 1 {
					t.Errorf("%s: %q in place of %q is not found: exit code %d\n%s%s", c.script, to, from, code, stdout, stderr)
				}
			}
		})
	}
}

// TestInitOptions checks names and files.
func TestInitOptions(t *testing.T) {
	for name, c := range map[string]struct {
		args   []string
		code   int
		stderr string
		// files are what some files contain.
		files map[string]string
	}{
		"defaults": {
			args: []string{"composite"},
			files: map[string]string{
				"webapp/crd.yaml": "name: webapps.example.com", "webapp/schema.yaml": "kind: WebApp", "webapp/sync.ts": "SyncRequest", "webapp/webapp_test.yaml": "a WebApp has",
				"webapp/README.md": "libretto dev .",
			},
		},
		"a kind and a group": {
			args:  []string{"map", "--lang", "cel", "--kind", "TeamPolicy", "--group", "apps.example.org"},
			files: map[string]string{"teampolicy/crd.yaml": "    kind: TeamPolicy\n    plural: teampolicies\n    singular: teampolicy", "teampolicy/example.yaml": "apps.example.org/v1"},
		},
		"a kind made from the name": {
			args:  []string{"composite", "--lang", "js", "web-shop"},
			files: map[string]string{"web-shop/example.yaml": "kind: WebShop", "web-shop/definition.yaml": "name: web-shop-hooks"},
		},
		"a folder": {
			args:  []string{"decorator", "--lang", "jsonnet", "budgets", "--dir", "a/b", "--group", "acme.io"},
			files: map[string]string{"a/b/hooks.jsonnet": "acme.io/min-available", "a/b/definition.yaml": "key: acme.io/min-available"},
		},
		"no variant":               {code: 2, stderr: "libretto: libretto init: name what to write, and a name if you like: composite|decorator|map [NAME]\n"},
		"an unknown variant":       {args: []string{"job"}, code: 2, stderr: "libretto: init job: name one of composite, decorator, map, and then the controller: init composite job\n"},
		"an unknown language":      {args: []string{"map", "--lang", "lua"}, code: 2, stderr: "libretto: --lang lua: there are cel, js, jsonnet, ts\n"},
		"a decorator's kind":       {args: []string{"decorator", "--kind", "A"}, code: 2, stderr: "libretto: --kind A: a decorator has no kind of its own: edit spec.resources of its definition\n"},
		"a kind in lower case":     {args: []string{"map", "--kind", "a"}, code: 2, stderr: "libretto: --kind a: must be letters and digits, the first a capital, like WebApp\n"},
		"a group without a domain": {args: []string{"map", "--group", "a"}, code: 2, stderr: "libretto: --group a: must be a domain of yours, like apps.example.com\n"},
		"a name with dots":         {args: []string{"map", "a.b"}, code: 2, stderr: "libretto: name a.b: must not contain dots\n"},
		"a long name": {
			args: []string{"map", strings.Repeat("a", 64)}, code: 2,
			stderr: "libretto: name " + strings.Repeat("a", 64) + ": must be no more than 63 characters\n",
		},
		"a name whose plural is too long": {
			args: []string{"map", strings.Repeat("a", 63)}, code: 2,
			stderr: "libretto: name " + strings.Repeat("a", 63) + ": the kind would be A" + strings.Repeat("a", 62) +
				", which must be shorter: its plural may have 63 characters: choose another with --kind\n",
		},
		"a long name with a kind": {
			args:  []string{"map", strings.Repeat("a", 63), "--kind", "Quota"},
			files: map[string]string{strings.Repeat("a", 63) + "/example.yaml": "kind: Quota"},
		},
		"a name that begins with a digit": {
			args: []string{"map", "3d-print"}, code: 2,
			stderr: "libretto: name 3d-print: the kind would be 3dPrint, which must be letters and digits, the first a capital, like WebApp: " +
				"choose another with --kind\n",
		},
		"a name that makes a kind of the template": {
			args: []string{"composite", "deployment"}, code: 2,
			stderr: "libretto: name deployment: the kind would be Deployment, which must be a name of its own: Kubernetes or the types of hooks have it: " +
				"choose another with --kind\n",
		},
		"the group of Kubernetes": {args: []string{"map", "--group", "kubernetes.io"}, code: 2, stderr: "libretto: --group kubernetes.io: must be a domain of yours, like apps.example.com\n"},
		"a group of Kubernetes":   {args: []string{"map", "--group", "a.k8s.io"}, code: 2, stderr: "libretto: --group a.k8s.io: must be a domain of yours, like apps.example.com\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			code, stdout, stderr := program.Run(t, "", append([]string{"init"}, c.args...)...)
			if diff := cmp.Diff(c.stderr, stderr); diff != "" || code != c.code {
				t.Fatalf("exit code %d, want %d; standard error (-want +got):\n%s", code, c.code, diff)
			}
			for name, text := range c.files {
				got, err := os.ReadFile(name)
				if err != nil || !strings.Contains(string(got), text) || !strings.Contains(stdout, "wrote "+name+"\n") {
					t.Errorf("%s must contain %q and be listed: %v\n%s\n%s", name, text, err, got, stdout)
				}
			}
		})
	}
}

// TestInitKeepsFiles checks that nothing is written if a file is there, and that --force overwrites it.
func TestInitKeepsFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("sync.js", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := program.Run(t, "", "init", "composite", "--lang", "js", "--dir", ".")
	want := "libretto: sync.js: there already, nothing was written: choose another folder with --dir, or overwrite with --force\n"
	if files, _ := filepath.Glob("*"); code != 2 || stderr != want || len(files) != 1 {
		t.Errorf("exit code %d, %d files: %s", code, len(files), stderr)
	}
	if code, _, stderr := program.Run(t, "", "init", "composite", "--lang", "js", "--dir", ".", "--force"); code != 0 {
		t.Errorf("--force: %s", stderr)
	}
	if text, err := os.ReadFile("sync.js"); err != nil || !strings.Contains(string(text), "export function sync") {
		t.Errorf("--force: %v: %s", err, text)
	}
}
