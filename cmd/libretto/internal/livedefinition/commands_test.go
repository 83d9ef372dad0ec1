package livedefinition_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/history"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/rollback"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/rollout"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program{rollout.Command, rollback.Command, history.Command}

// TestRolloutRefuses gives the commands about a definition what they can't run with. What they do on a cluster is in test/integration/diff.
func TestRolloutRefuses(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for line, want := range map[string]string{
		"rollout":                                  "name what to do: status, approve, promote, abort, pause or resume",
		"rollout undo hello":                       "name what to do: status, approve, promote, abort, pause or resume",
		"rollout status":                           "libretto rollout status: name one definition",
		"rollout status a b":                       "libretto rollout status: name one definition",
		"rollout status hello -o yaml":             "-o yaml: there are text, json",
		"rollout status hello --wait":              "unknown flag: --wait",
		"rollout status hello --kubeconfig NONE":   "kubeconfig " + none,
		"rollout approve a b c":                    "libretto rollout approve: name one definition, and a revision if you like",
		"rollout approve hello --kubeconfig NONE":  "kubeconfig " + none,
		"rollout pause hello --dry-run yes":        "--dry-run yes: there are none, client, server",
		"rollout resume hello --kubeconfig NONE":   "kubeconfig " + none,
		"rollback hello --to-revision 1 --unpin":   "--to-revision and --unpin exclude each other",
		"rollout promote":                          "libretto rollout promote: name one definition",
		"rollout promote hello --all":              "unknown flag: --all",
		"rollout abort a b":                        "libretto rollout abort: name one definition",
		"rollout abort hello --kubeconfig NONE":    "kubeconfig " + none,
		"rollback":                                 "libretto rollback: name one definition",
		"rollback hello --unpin --kubeconfig NONE": "kubeconfig " + none,
		"history":                         "libretto history: name one definition, and one or two revisions if you like",
		"history a 1 2 3":                 "libretto history: name one definition, and one or two revisions if you like",
		"history hello -o markdown":       "-o markdown: there are text, json",
		"history hello --kubeconfig NONE": "kubeconfig " + none,
	} {
		t.Run(line, func(t *testing.T) {
			code, stdout, stderr := program.Run(t, "", strings.Fields(strings.ReplaceAll(line, "NONE", none))...)
			if code != cli.ExitCannot || stdout != "" || !strings.Contains(stderr, want) {
				t.Errorf("exit code %d, want %d; no %q in: %s%s", code, cli.ExitCannot, want, stdout, stderr)
			}
		})
	}
}
