package main

import (
	"context"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// newRoot returns the root command, with those below it.
func newRoot(w process, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "libretto",
		Short:         "Hosts Kubernetes controllers whose behaviour is a script",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       w.build().String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(explainFlag)
	root.SetArgs(w.args)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	root.AddCommand(commands...)
	if w.isPlugin {
		showAsPlugin(root)
	}
	return root
}

// execute runs the command line, and returns the exit code.
func execute(ctx context.Context, w process, root *cobra.Command) int {
	return exitCode(w, explainUnknown(root, root.ExecuteContext(ctx)))
}

// showAsPlugin makes all that commands say about themselves begin with kubectl libretto. Completion is up to kubectl then.
func showAsPlugin(root *cobra.Command) {
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl " + root.Name()}
	root.CompletionOptions.HiddenDefaultCmd = true
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
	}
	line := regexp.MustCompile(`\b` + root.Name() + ` (` + strings.Join(names, "|") + `)\b`)
	for _, c := range allCommands(root) {
		c.Example = line.ReplaceAllString(c.Example, root.DisplayName()+" $1")
		c.Long = line.ReplaceAllString(c.Long, root.DisplayName()+" $1")
	}
}

// allCommands returns the commands that do something: those below root that have no commands below them.
func allCommands(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			all = append(all, allCommands(c)...)
		} else {
			all = append(all, c)
		}
	}
	return all
}
