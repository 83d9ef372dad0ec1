package main

import "github.com/spf13/cobra"

// conduct is what a command promises to those who call it. It becomes a table of docs/reference/cli.md.
type conduct struct {
	// success, problems and cannot are when the exit code is 0, 1 and 2. Empty means never.
	success, problems, cannot string
	// others are the exit codes from 3 on, and when they are so. Empty means never.
	others string
	// stdin, stdout and stderr are what is read and written. Empty means nothing.
	stdin, stdout, stderr string
	// colour is what is coloured on a terminal, unless NO_COLOR is set or TERM is dumb. Empty means nothing.
	colour string
}

// The keys of a command's annotations, in the order of the table.
var conductKeys = []string{
	"exit code 0", "exit code 1", "exit code 2", "other exit codes", "standard input", "standard output", "standard error", "colour",
}

// addTo records the conduct with the command.
func (c conduct) addTo(command *cobra.Command) {
	values := []string{c.success, c.problems, c.cannot, c.others, c.stdin, c.stdout, c.stderr, c.colour}
	command.Annotations = map[string]string{}
	for i, key := range conductKeys {
		command.Annotations[key] = values[i]
	}
}
