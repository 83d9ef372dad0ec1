package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// versionFormats are the formats of the command version.
var versionFormats = []string{"text", "json"}

func versionCommand(w cli.Process) *cobra.Command {
	output := versionFormats[0]
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return printVersion(c.OutOrStdout(), w.Build(), output) },
	}
	c.Flags().StringVarP(&output, "output", "o", output, "text or json")
	cli.CompleteFlag(c, "output", versionFormats...)
	cli.Conduct{Success: "always", Cannot: "a flag is wrong", Stdout: "the version"}.AddTo(c)
	return c
}

// printVersion writes the version in a format.
func printVersion(w io.Writer, b cli.Build, format string) error {
	switch format {
	case "text":
		_, err := fmt.Fprintln(w, b)
		return err
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(b)
	}
	return cli.Cannot(fmt.Errorf("-o %s: there are text and json", format))
}
