package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// TestExitCodes runs each command with what it can't be run with. The exit code is 2, as its table in docs/reference/cli.md has it.
func TestExitCodes(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	lines := map[string]string{
		"an unknown command": "nope", "help for one": "help nope", "an unknown flag of the program": "--nope", "one of a group": "rollout --nope",
		"an unknown command of a group": "rollout nope", "a group alone": "rollout", "flags that exclude each other": "rollout status a --revision b -f c",
		"init a file": "init map a b", "dev, a folder": "dev " + missing, "types, a file": "types --crd " + missing, "types, an argument": "types " + missing,
		"types, nowhere to write": "types --directory /dev/null/a", "crd, a file": "crd " + missing, "push, a folder": "push oci://example.com/a " + missing,
		"an unknown help flag": "help --nope",
	}
	for _, command := range []string{
		"explain a/b", "capture a/b", "history a", "rollback a", "rollout status a", "rollout pause a", "rollout resume a", "rollout approve a",
		"rollout promote a", "rollout abort a", "dev",
	} {
		lines[command+", a missing kubeconfig"] = command + " --kubeconfig " + missing
	}
	for _, c := range cli.AllCommands(cli.NewRoot(cli.Process{Getenv: func(string) string { return "" }}, commands...)) {
		name := nameOf(c)
		if c.Name() == "help" || strings.HasPrefix(name, "completion") {
			continue
		}
		if c.Annotations["exit code 2"] == "" {
			t.Errorf("%s does not say when its exit code is 2", name)
		}
		lines[name+", an unknown flag"] = name + " --nope"
		lines[name+", many arguments"] = name + " a b c d e"
		if f := c.Flags().Lookup("filename"); f != nil {
			lines[name+", a missing file"] = name + " -f " + missing
		}
	}
	for what, line := range lines {
		t.Run(what, func(t *testing.T) {
			if code, stdout, stderr := program.Run(t, "", strings.Split(line, " ")...); code != cli.ExitCannot || stderr == "" || stdout != "" {
				t.Errorf("libretto %s: exit code %d, want %d: %s%s", line, code, cli.ExitCannot, stdout, stderr)
			}
		})
	}
}
