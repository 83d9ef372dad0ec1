package cli

import (
	"fmt"

	"github.com/spf13/cobra"
)

// CompleteFlag lets shells complete the value of a flag, which is one of a few.
func CompleteFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --%s of %s: %v", flag, c.Name(), err))
	}
}
