// Package plugin runs the program as a plug-in of the real kubectl. It needs no control plane.
package plugin

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
)

// kubectl runs kubectl with the links of make build in a folder of its own, as krew makes them, and returns what it prints.
func kubectl(t *testing.T, args ...string) (string, error) {
	t.Helper()
	program, err := cluster.Binary("kubectl")
	if err != nil {
		t.Fatal(err)
	}
	libretto, err := cluster.Binary("libretto")
	if err != nil {
		t.Fatal(err)
	}
	links := t.TempDir()
	for _, name := range []string{"kubectl-libretto", "kubectl_complete-libretto"} {
		if err := os.Symlink(libretto, filepath.Join(links, name)); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), program, args...)
	command.Env = append(os.Environ(), "PATH="+links, "KUBECONFIG=/nonexistent")
	out, err := command.CombinedOutput()
	return string(out), err
}

// TestCommands runs commands through kubectl: their usage is that of a plug-in, and script workers are found beside the real program.
func TestCommands(t *testing.T) {
	root, err := cluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	hello := filepath.Join(root, "examples", "hello")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"version": {[]string{"version"}, "libretto "},
		"check":   {[]string{"check", "-f", hello}, "1 definition and 1 script checked: no problems\n"},
		"render":  {[]string{"render", "-f", hello, "-o", "diff"}, "+ create ConfigMap default/world-greeting\n"},
		"usage":   {[]string{"render", "--help"}, "\n  kubectl libretto render -f app/ --parent"},
		"nested":  {[]string{"rollout", "status", "--help"}, "\n  kubectl libretto rollout status hello\n"},
		"init":    {[]string{"init", "map", "--lang", "cel", "--dir", filepath.Join(t.TempDir(), "a")}, "\n  kubectl libretto test "},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := kubectl(t, append([]string{"libretto"}, c.args...)...)
			if err != nil || !strings.Contains(out, c.want) {
				t.Errorf("%v, want %q in:\n%s", err, c.want, out)
			}
		})
	}
	var exit *exec.ExitError
	if _, err := kubectl(t, "libretto", "check", "-f", "/nonexistent"); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		t.Errorf("a file that does not exist: %v, want exit code 2", err)
	}
}

// TestKustomize builds what init writes with kubectl's own kustomize.
func TestKustomize(t *testing.T) {
	for variant, want := range map[string]string{
		"composite": "kind: CompositeController", "decorator": "kind: DecoratorController", "map": "kind: MapController",
	} {
		directory := filepath.Join(t.TempDir(), "a")
		if out, err := kubectl(t, "libretto", "init", variant, "my-app", "--dir", directory); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out, err := kubectl(t, "kustomize", directory)
		if err != nil || !strings.Contains(out, want) || !strings.Contains(out, "  name: my-app-hooks\n") || strings.Contains(out, "kind: ControllerTest") {
			t.Errorf("%s: %v\n%s", variant, err, out)
		}
	}
}

// TestCompletion asks kubectl to complete command lines, as shells do.
func TestCompletion(t *testing.T) {
	for line, want := range map[string]string{
		"libretto ch":                   "check",
		"libretto check -f x -o ":       "github",
		"libretto render --hook fin":    "finalize",
		"libretto render --ready no":    "none",
		"libretto init dec":             "decorator",
		"libretto rollout pa":           "pause",
		"libretto init map --lang json": "jsonnet",
	} {
		args := append([]string{"__complete"}, strings.Split(line, " ")...)
		if out, err := kubectl(t, args...); err != nil || !strings.Contains("\n"+out, "\n"+want) {
			t.Errorf("%s: %v, want %s in:\n%s", line, err, want, out)
		}
	}
}
