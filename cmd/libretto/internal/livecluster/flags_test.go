package livecluster_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/capture"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/explain"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{capture.Command, explain.Command}

// TestParentRefuses gives capture and explain what they can't run with. What they do on a cluster is in test/integration/diff.
func TestParentRefuses(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing":         {nil, "name one parent, as KIND/NAME"},
		"no kind":         {[]string{"shop"}, "name one parent, as KIND/NAME"},
		"no name":         {[]string{"webapp/"}, "name one parent, as KIND/NAME"},
		"a namespace":     {[]string{"webapp/prod/shop"}, "name one parent, as KIND/NAME"},
		"too many":        {[]string{"webapp", "shop", "blog"}, "name one parent, as KIND/NAME"},
		"an unknown flag": {[]string{"webapp/shop", "--every"}, "--every"},
		"no cluster":      {[]string{"webapp/shop", "--kubeconfig", none}, "kubeconfig " + none},
		"two arguments":   {[]string{"webapp", "shop", "--kubeconfig", none}, "kubeconfig " + none},
	} {
		for _, command := range []string{"capture", "explain"} {
			t.Run(command+" "+name, func(t *testing.T) {
				code, stdout, stderr := program.Run(t, "", append([]string{command}, c.args...)...)
				if code != cli.ExitCannot || stdout != "" || !strings.Contains(stderr, c.want) {
					t.Errorf("exit code %d, want %d; no %q in: %s%s", code, cli.ExitCannot, c.want, stdout, stderr)
				}
			})
		}
	}
	code, _, stderr := program.Run(t, "", "explain", "webapp/shop", "-o", "yaml")
	if code != cli.ExitCannot || !strings.Contains(stderr, "-o yaml: there are text, json") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
