package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// LimitFlag lets a flag have one of a few values, which shells complete.
func LimitFlag(c *cobra.Command, flag string, values ...string) {
	limited, shown := c.Flag(flag), "--"+flag
	if limited.Shorthand != "" {
		shown = "-" + limited.Shorthand
	}
	limited.Value = limitedValue{limited.Value, shown, values}
	CompleteFlag(c, flag, values...)
}

// limitedValue is the value of a flag that is one of a few.
type limitedValue struct {
	pflag.Value
	flag   string
	values []string
}

// Set sets the value, unless it is none of them.
func (l limitedValue) Set(value string) error {
	if !slices.Contains(l.values, value) {
		return &limitError{fmt.Errorf("%s %s: there are %s", l.flag, value, strings.Join(l.values, ", "))}
	}
	return l.Value.Set(value)
}

// limitError is that a flag has a value that is none of a few.
type limitError struct{ error }

// CompleteFlag lets shells complete the value of a flag, which is one of a few.
func CompleteFlag(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(fmt.Sprintf("completion of --%s of %s: %v", flag, c.Name(), err))
	}
}
