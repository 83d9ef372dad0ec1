package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/runtime/values/spelling"
)

// Exactly checks the number of arguments of a command.
func Exactly(least, most int, what string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || len(args) > most {
			return Cannot(fmt.Errorf("%s: name %s", c.CommandPath(), what))
		}
		return nil
	}
}

// unknownCommand matches what cobra says about a command that there is not, and about an argument of one that takes none.
var unknownCommand = regexp.MustCompile(`^unknown command (".*") for "(.*)"`)

// explainUnknown returns an error with the command that is like an unknown one, or with all that there are. Others it returns as they are.
func explainUnknown(root *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	found := unknownCommand.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	if found[2] != root.Name() {
		return fmt.Errorf("%s takes no arguments, and is given %s", found[2], found[1])
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	return fmt.Errorf("%s: %s", found[0], cmp.Or(spelling.Meant(strings.Trim(found[1], `"`), names), "there are "+strings.Join(names, ", ")))
}
