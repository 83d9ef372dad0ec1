package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// versionFormats are the formats of the command version.
var versionFormats = []string{"text", "json"}

func versionCommand() *cobra.Command {
	output := versionFormats[0]
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return printVersion(c.OutOrStdout(), output) },
	}
	c.Flags().StringVarP(&output, "output", "o", output, "text or json")
	completeFlag(c, "output", versionFormats...)
	conduct{success: "always", cannot: "a flag is wrong", stdout: "the version"}.addTo(c)
	return c
}

// printVersion writes the version in a format.
func printVersion(w io.Writer, format string) error {
	switch format {
	case "text":
		_, err := fmt.Fprintln(w, versionText())
		return err
	case "json":
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(builtVersion{
			Version: version, Commit: commit(), Platform: runtime.GOOS + "/" + runtime.GOARCH, GoVersion: runtime.Version(),
		})
	}
	return cannot(fmt.Errorf("-o %s: there are text and json", format))
}

func versionText() string {
	return fmt.Sprintf("libretto %s %s/%s %s", version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}

// builtVersion is the version as JSON.
type builtVersion struct {
	Version   string `json:"version"`
	Commit    string `json:"commit,omitempty"`
	Platform  string `json:"platform"`
	GoVersion string `json:"goVersion"`
}

// commit returns the commit that the program was built from, or "" if the build does not say.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
