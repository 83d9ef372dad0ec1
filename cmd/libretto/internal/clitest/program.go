// Package clitest runs command lines in tests of commands.
package clitest

import (
	"bytes"
	"context"
	"flag"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines/sandbox"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// Update makes tests write what they expect.
var Update = flag.Bool("update", false, "rewrite the expected results in testdata")

// Examples is the folder of the examples, as seen from that of a command.
const Examples = "../../../../examples"

// isMain is set by Main. Without it a test binary that is started as a worker would run the tests again, which start workers.
var isMain bool

// workers run the scripts of all command lines of a package: starting some for each takes longer than most of the commands. They end with
// this process.
var workers = sync.OnceValue(func() *sandbox.Pool { return sandbox.New(cli.OfflineWorkers("")) })

// Main runs the tests of a package, script workers, and what builds kustomizations: the commands start the test binary for that.
func Main(m *testing.M) {
	isMain = true
	kustomize.Main()
	worker.Main(standard.Scripts)
	os.Exit(m.Run())
}

// Program is the program with some of its commands.
type Program []func(cli.Process) *cobra.Command

// Execute runs the command line of a process, and returns its exit code.
func (p Program) Execute(ctx context.Context, w cli.Process) int {
	if !isMain {
		panic("call clitest.Main in TestMain")
	}
	return cli.Execute(ctx, w, cli.NewRoot(w, p...))
}

// Run runs a command line, and returns its exit code and output.
func (p Program) Run(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = p.Execute(t.Context(), cli.Process{
		Args: args, Getenv: func(string) string { return "" }, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs,
		Workers: workers(),
	})
	return code, out.String(), errs.String()
}
