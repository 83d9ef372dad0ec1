package cli

import "github.com/spf13/cobra"

// Conduct is what a command promises to those who call it. It becomes a table of docs/reference/cli.md.
type Conduct struct {
	// Success, Problems and Cannot are when the exit code is 0, 1 and 2. Empty means never.
	Success, Problems, Cannot string
	// Others are the exit codes from 3 on, and when they are so. Empty means never.
	Others string
	// Stdin, Stdout and Stderr are what is read and written. Empty means nothing.
	Stdin, Stdout, Stderr string
	// Colour is what is coloured on a terminal, unless NO_COLOR is set or TERM is dumb. Empty means nothing.
	Colour string
}

// ConductKeys are the keys of a command's annotations, in the order of the table.
var ConductKeys = []string{
	"exit code 0", "exit code 1", "exit code 2", "other exit codes", "standard input", "standard output", "standard error", "colour",
}

// Finish records with a command what it promises.
func Finish(c *cobra.Command, promise Conduct) {
	values := []string{
		promise.Success, promise.Problems, promise.Cannot, promise.Others, promise.Stdin, promise.Stdout, promise.Stderr, promise.Colour,
	}
	c.Annotations = map[string]string{}
	for i, key := range ConductKeys {
		c.Annotations[key] = values[i]
	}
}
