package cli

import (
	"context"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// NewRoot returns the root command, with those below it.
func NewRoot(w Process, commands ...func(Process) *cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use:           "libretto",
		Short:         "Hosts Kubernetes controllers whose behaviour is a script",
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       w.Build().String(),
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(explainFlag)
	root.SetArgs(w.Args)
	root.SetOut(w.Stdout)
	root.SetErr(w.Stderr)
	for _, command := range commands {
		root.AddCommand(command(w))
	}
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		if show := c.Run; c.Name() == "help" {
			c.Run, c.RunE = nil, func(c *cobra.Command, args []string) error {
				if _, _, err := root.Find(args); err != nil {
					return err
				}
				show(c, args)
				return nil
			}
		}
	}
	if w.IsPlugin {
		showAsPlugin(root)
	}
	return root
}

// Execute runs the command line, and returns the exit code.
func Execute(ctx context.Context, w Process, root *cobra.Command) int {
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
	for _, c := range AllCommands(root) {
		c.Example = line.ReplaceAllString(c.Example, root.DisplayName()+" $1")
		c.Long = line.ReplaceAllString(c.Long, root.DisplayName()+" $1")
	}
}

// AllCommands returns the commands that do something: those below root that have no commands below them.
func AllCommands(root *cobra.Command) []*cobra.Command {
	var all []*cobra.Command
	for _, c := range root.Commands() {
		if c.HasSubCommands() {
			all = append(all, AllCommands(c)...)
		} else {
			all = append(all, c)
		}
	}
	return all
}
