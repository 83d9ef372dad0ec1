package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
)

// versionFormats are the formats of the command version.
var versionFormats = []string{"text", "json"}

func versionCommand(w process) *cobra.Command {
	output := versionFormats[0]
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return printVersion(c.OutOrStdout(), w.build(), output) },
	}
	c.Flags().StringVarP(&output, "output", "o", output, "text or json")
	completeFlag(c, "output", versionFormats...)
	conduct{success: "always", cannot: "a flag is wrong", stdout: "the version"}.addTo(c)
	return c
}

// printVersion writes the version in a format.
func printVersion(w io.Writer, b build, format string) error {
	switch format {
	case "text":
		_, err := fmt.Fprintln(w, b)
		return err
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(b)
	}
	return cannot(fmt.Errorf("-o %s: there are text and json", format))
}
