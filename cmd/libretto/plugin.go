package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

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

// completeFlag lets shells complete the value of a flag, which is one of a few.
func completeFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --%s of %s: %v", flag, c.Name(), err))
	}
}
