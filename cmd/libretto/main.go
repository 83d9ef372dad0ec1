// Command libretto hosts Kubernetes controllers whose behaviour is a script.
package main

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/bundle"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/capture"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/crd"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/dev"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/diff"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/explain"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/history"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/lsp"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/push"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/rbac"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/render"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/revision"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/rollback"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/rollout"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/scaffold"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/types"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/versions"
	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// The linker sets both, of a release. Otherwise the compiler may know the commit.
var (
	version = "unreleased"
	commit  string
)

func main() {
	kustomize.Main()
	worker.Main(standard.Scripts)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)   // A second signal kills the process.
	klog.SetLogger(logr.Discard()) // Commands without a cluster print no lines of client-go; serve sets its own.
	w := cli.Process{
		Args: arguments(os.Args), IsPlugin: programName(os.Args[0]) == pluginName, Version: version, Commit: commit, Getenv: os.Getenv,
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: printable.Writer(os.Stderr),
		StderrIsTerminal: func() bool { return cli.IsTerminal(os.Stderr) },
	}
	os.Exit(cli.Execute(ctx, w, cli.NewRoot(w, commands...)))
}

// The names of the program that make it do something else.
const (
	pluginName     = "kubectl-libretto"          // kubectl libretto runs it.
	completionName = "kubectl_complete-libretto" // kubectl runs it to complete a command line that begins with kubectl libretto.
	hostName       = "metacontroller"            // It serves, as metacontroller does.
)

// programName returns the name of a program without its folder.
func programName(path string) string { return strings.TrimSuffix(filepath.Base(path), ".exe") }

// arguments returns the arguments of the command line, and what the name of the program stands for.
func arguments(line []string) []string {
	switch programName(line[0]) {
	case hostName:
		return append([]string{"serve"}, line[1:]...)
	case completionName:
		return append([]string{cobra.ShellCompRequestCmd}, line[1:]...)
	default:
		return line[1:]
	}
}

// commands are all that there are.
var commands = []func(cli.Process) *cobra.Command{
	serve.Command, scaffold.Command, dev.Command, check.Command, render.Command, test.Command, diff.Command, explain.Command, capture.Command,
	rollout.Command, rollback.Command, history.Command, revision.Command, bundle.Command, push.Command, crd.Command, types.Command,
	rbac.Command, lsp.Command, versions.Command,
}
