// Command libretto hosts Kubernetes controllers whose behaviour is a script.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/libretto-k8s/libretto/controllers/manifest/kustomize"
	"github.com/libretto-k8s/libretto/engines/sandbox/worker"
	"github.com/libretto-k8s/libretto/engines/standard"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// version is set by the linker.
var version = "unreleased"

// process holds what commands use of the process. Only main reads the real one.
type process struct {
	args []string
	// isPlugin reports whether kubectl runs the program.
	isPlugin       bool
	getenv         func(string) string
	stdin          io.Reader
	stdout, stderr io.Writer
	// stderrIsTerminal reports whether people read stderr. Nil means that it is no terminal.
	stderrIsTerminal func() bool
}

func main() {
	kustomize.Main()
	worker.Main(standard.Scripts)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)   // A second signal kills the process.
	klog.SetLogger(logr.Discard()) // Commands without a cluster print no lines of client-go; serve sets its own.
	w := process{
		args: arguments(os.Args), isPlugin: programName(os.Args[0]) == pluginName, getenv: os.Getenv,
		stdin: os.Stdin, stdout: os.Stdout, stderr: printable.Writer(os.Stderr),
		stderrIsTerminal: func() bool { return isTerminal(os.Stderr) },
	}
	os.Exit(runLine(ctx, w))
}

// runLine runs the command line, and returns the exit code.
func runLine(ctx context.Context, w process) int {
	root := command(w)
	return exitCode(w, explainUnknown(root, root.ExecuteContext(ctx)))
}

// exitCode prints an error of a command and returns the exit code for it. To be told to stop is no error.
func exitCode(w process, err error) int {
	code := 1
	var exit *exitError
	switch {
	case errors.As(err, &exit):
		code = exit.code
	case err == nil || errors.Is(err, context.Canceled):
		return 0
	}
	if text := err.Error(); text != "" {
		fmt.Fprintln(w.stderr, "libretto:", text)
	}
	return code
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

// command returns the root command.
func command(w process) *cobra.Command {
	root := &cobra.Command{
		Use:           "libretto",
		Short:         "Hosts Kubernetes controllers whose behaviour is a script",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       versionText(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(explainFlag)
	root.SetArgs(w.args)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	root.AddCommand(
		serveCommand(w), initCommand(w), checkCommand(w), renderCommand(w), testCommand(w), diffCommand(w), explainCommand(w), captureCommand(w),
		rolloutCommand(w), rollbackCommand(w), historyCommand(w), revisionCommand(w), bundleCommand(w), typesCommand(w), versionCommand(),
	)
	if w.isPlugin {
		showAsPlugin(root)
	}
	return root
}

func userAgent() string {
	return fmt.Sprintf("libretto/%s (%s/%s)", version, runtime.GOOS, runtime.GOARCH)
}
