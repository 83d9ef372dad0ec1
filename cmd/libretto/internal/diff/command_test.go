package diff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{Command}

// TestDiffRefuses gives diff what it can't run with. What it does on a cluster is in test/integration/diff.
func TestDiffRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "hooks.yaml")
	text := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hooks}\ndata: {sync.js: \"\"}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no files":               {nil, "name the files with -f"},
		"an unknown format":      {[]string{"-f", file, "-o", "yaml"}, "-o yaml: there are text, json, markdown"},
		"a negative number":      {[]string{"-f", file, "--max-parents", "-1"}, "--max-parents -1: must not be negative"},
		"a bad selector":         {[]string{"-f", file, "-l", "a in b"}, "--selector: "},
		"a file that is not":     {[]string{"-f", file + ".none"}, "hooks.yaml.none"},
		"no cluster":             {[]string{"-f", file, "--kubeconfig", file + ".none"}, "kubeconfig " + file + ".none"},
		"scripts without a name": {[]string{"--scripts", "hooks=" + file}, "must be NAMESPACE/NAME=DIRECTORY, or KIND/NAMESPACE/NAME=DIRECTORY"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := program.Run(t, "", append([]string{"diff"}, c.args...)...)
			if code != cli.ExitCannot || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("exit code %d, want %d; no %q in: %s%s", code, cli.ExitCannot, c.want, stdout, stderr)
			}
		})
	}
}
