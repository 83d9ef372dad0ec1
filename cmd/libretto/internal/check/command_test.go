package check

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/test/race"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// brokenDefinition has a script with an error and an import that is not used.
const brokenDefinition = `
apiVersion: metacontroller.k8s.io/v1alpha1
kind: DecoratorController
metadata: {name: a}
spec:
  resources: [{apiVersion: v1, resource: pods}]
  hooks:
    sync:
      script:
        engine: JavaScript
        inline: |
          export function sync() {
            return { attachments: [ };
          }
`

// suspiciousDefinition has nothing but a warning.
var suspiciousDefinition = strings.Replace(strings.Replace(brokenDefinition, "[ }", "[] }", 1), "engine:", "parameters: {}\n        engine:", 1)

func TestCheckCommand(t *testing.T) {
	for name, c := range map[string]struct {
		stdin          string
		args           []string
		code           int
		stdout, stderr string
	}{
		"nothing is wrong": {
			args: []string{"-f", clitest.Examples + "/hello"}, stdout: "1 definition and 1 script checked: no problems\n",
		},
		"files as arguments": {
			args: []string{clitest.Examples + "/hello", clitest.Examples + "/map"}, stdout: "2 definitions and 2 scripts checked: no problems\n",
		},
		"an error": {
			stdin: brokenDefinition, args: []string{"-f", "-"}, code: 1,
			stdout: "stdin:13:37: error: DecoratorController a: hook sync: Unexpected \"}\" [ScriptInvalid]\n1 definition and 1 script checked: 1 error, 0 warnings\n",
		},
		"an error for GitHub": {
			stdin: brokenDefinition, args: []string{"-f", "-", "-o", "github"}, code: 1,
			stdout: "::error file=stdin,line=13,col=37,title=ScriptInvalid::DecoratorController a: hook sync: Unexpected \"}\"\n",
			stderr: "1 definition and 1 script checked: 1 error, 0 warnings\n",
		},
		"a warning": {
			stdin: suspiciousDefinition, args: []string{"-f", "-"},
			stdout: "stdin:10:21: warning: DecoratorController a: hook sync: it is given parameters, and no file that it reaches names request.parameters " +
				"[UnusedParameters]\n1 definition and 1 script checked: 0 errors, 1 warning\n",
		},
		"a warning that counts": {
			stdin: suspiciousDefinition, args: []string{"-f", "-", "--strict", "-o", "github"}, code: 1,
			stdout: "::warning file=stdin,line=10,col=21,title=UnusedParameters::DecoratorController a: hook sync: it is given parameters, " +
				"and no file that it reaches names request.parameters\n",
			stderr: "1 definition and 1 script checked: 0 errors, 1 warning\n",
		},
		"a directory for no ConfigMap": {
			args: []string{"-f", clitest.Examples + "/hello", "--scripts", "default/other=" + clitest.Examples + "/catset", "--strict"}, code: 1,
			stdout: "warning: --scripts default/other: no definition has that ConfigMap among its scriptSources: correct the name [UnusedScripts]\n" +
				"1 definition and 1 script checked: 0 errors, 1 warning\n",
		},
		"YAML that is none": {
			stdin: "a: [\n", args: []string{"-f", "-"}, code: 1,
			stdout: "stdin:1: error: did not find expected node content: a [ or { is not closed, or a comma is too many [Invalid]\n0 definitions and 0 scripts checked: 1 error, 0 warnings\n",
		},
		"no files":          {code: 2, stderr: "libretto: name the files with -f: a file, a directory, or - for standard input\n"},
		"no such file":      {args: []string{"-f", "nope"}, code: 2, stderr: "libretto: stat nope: no such file or directory\n"},
		"an unknown flag":   {args: []string{"--nope"}, code: 2, stderr: "libretto: unknown flag: --nope: libretto check --help lists the flags\n"},
		"an unknown format": {args: []string{"-f", "-", "-o", "xml"}, code: 2, stderr: "libretto: -o xml: there are text, json, github\n"},
		"a wrong --scripts": {args: []string{"-f", "-", "--scripts", "a=b"}, code: 2, stderr: "libretto: --scripts a=b: must be NAMESPACE/NAME=DIRECTORY, or KIND/NAMESPACE/NAME=DIRECTORY for an object of Flux\n"},
		"nothing to check":  {stdin: "{}", args: []string{"-f", clitest.Examples + "/hello/greeting.yaml"}, code: 2, stderr: "libretto: there is no CompositeController, DecoratorController or MapController among the files: give one with -f\n"},
		"a URL":             {args: []string{"-f", "https://example.com"}, code: 2, stderr: "libretto: https://example.com: nothing is fetched: download it, or pipe it into -f -\n"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program.Run(t, c.stdin, append([]string{"check"}, c.args...)...)
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if diff := cmp.Diff(c.stdout, stdout); diff != "" {
				t.Errorf("standard output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(c.stderr, stderr); diff != "" {
				t.Errorf("standard error (-want +got):\n%s", diff)
			}
		})
	}
}

// TestCheckJSON checks the format for programs.
func TestCheckJSON(t *testing.T) {
	code, stdout, _ := program.Run(t, brokenDefinition, "check", "-f", "-", "-o", "json")
	var got map[string]any
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"definitions": 1., "scripts": 1., "errors": 1., "warnings": 0.,
		"findings": []any{map[string]any{
			"severity": "error", "reason": "ScriptInvalid", "file": "stdin", "line": 13., "column": 37.,
			"object": "DecoratorController a", "message": `hook sync: Unexpected "}"`,
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" || code != 1 {
		t.Errorf("exit code %d, -want +got:\n%s", code, diff)
	}
}

// TestCheckExamples checks every example, with all of its folders: none has an error or a warning.
func TestCheckExamples(t *testing.T) {
	folders := map[string]bool{}
	for _, pattern := range []string{"*/*.yaml", "*/*/kustomization.yaml"} {
		files, err := filepath.Glob(filepath.Join(clitest.Examples, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			folders[filepath.Dir(file)] = true
		}
	}
	if len(folders) < 12 {
		t.Fatalf("there are %d folders", len(folders))
	}
	for folder := range folders {
		if filepath.Base(folder) == "base" {
			continue // It is a part of others.
		}
		t.Run(filepath.ToSlash(strings.TrimPrefix(folder, clitest.Examples+string(filepath.Separator))), func(t *testing.T) {
			if code, stdout, stderr := program.Run(t, "", "check", "--strict", "-f", folder); code != 0 {
				t.Errorf("exit code %d\n%s%s", code, stdout, stderr)
			}
		})
	}
}

// TestCheckHostile checks that scripts that do not end when they are loaded, or use up memory, are errors like others, and are
// not waited for: none of them ends by itself.
func TestCheckHostile(t *testing.T) {
	race.Skip(t)
	script := func(name, text string) string {
		good := strings.Replace(brokenDefinition, "{ attachments: [ }", text, 1)
		return "---\n" + strings.Replace(good, "name: a}", "name: "+name+"}", 1)
	}
	stdin := script("brackets", strings.Repeat("[", 100_000)) +
		script("loop", "1 }; while (true) {") +
		script("memory", "1 }; for (const a = [];;) { a.push('x'.repeat(1e6) + a.length)") +
		script("good", "{ attachments: [] }")
	code, stdout, stderr := program.Run(t, stdin, "check", "-f", "-", "-o", "json")
	var got struct {
		Findings []struct{ Object, Reason string }
	}
	if err := json.Unmarshal([]byte(stdout), &got); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	var reasons []string
	for _, f := range got.Findings {
		if f.Object == "DecoratorController memory" && f.Reason == "HookTimedOut" {
			f.Reason = "HookLimitExceeded" // On a slow machine time is up first.
		}
		reasons = append(reasons, f.Object+": "+f.Reason)
	}
	slices.Sort(reasons)
	want := []string{"DecoratorController brackets: ScriptInvalid", "DecoratorController loop: HookTimedOut", "DecoratorController memory: HookLimitExceeded"}
	if diff := cmp.Diff(want, reasons); diff != "" || code != 1 {
		t.Errorf("exit code %d, -want +got:\n%s", code, diff)
	}
}

// TestScriptsFlag checks that a directory takes the place of a ConfigMap, and that places are in its files.
func TestScriptsFlag(t *testing.T) {
	directory := t.TempDir()
	script := filepath.Join(directory, "sync.js")
	if err := os.WriteFile(script, []byte("export const sync = 1 +;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := program.Run(t, "", "check", "-f", clitest.Examples+"/hello", "--scripts", "default/hello-hooks="+directory)
	if want := script + ":1:24: error: CompositeController hello: Unexpected \";\" [ScriptInvalid]\n"; code != 1 || !strings.HasPrefix(stdout, want) {
		t.Errorf("exit code %d, output %s, want %s", code, stdout, want)
	}
}
