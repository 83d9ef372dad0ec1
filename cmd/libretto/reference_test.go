package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/clitest"
)

func TestMain(m *testing.M) { clitest.Main(m) }

var program = clitest.Program(commands)

// TestReference compares docs/reference/cli.md with the commands.
func TestReference(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "cli.md")
	want := reference(t)
	if *clitest.Update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("docs/reference/cli.md is stale: go test ./cmd/libretto -run TestReference -update (-want +got):\n%s", diff)
	}
}

// reference returns the reference of all commands.
func reference(t *testing.T) string {
	t.Helper()
	root := cli.NewRoot(cli.Process{Getenv: func(string) string { return "" }}, commands...)
	var text strings.Builder
	text.WriteString("# Commands\n\n`go test ./cmd/libretto -run TestReference -update` writes this file from the commands.\n\n" +
		"## Exit codes, streams and colour\n\n" +
		"A command that is unknown, and all that can't be run, has exit code 2. " +
		"Colour is for a standard output that is a terminal, and off if `NO_COLOR` is set or `TERM` is `dumb`.\n\n| |")
	var commands []*cobra.Command
	for _, c := range cli.AllCommands(root) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		commands = append(commands, c)
		fmt.Fprintf(&text, " %s |", nameOf(c))
	}
	text.WriteString("\n|" + strings.Repeat(" --- |", len(commands)+1) + "\n")
	for _, key := range cli.ConductKeys {
		fmt.Fprintf(&text, "| %s |", key)
		for _, c := range commands {
			value, described := c.Annotations[key]
			if !described {
				t.Errorf("%s does not say what its %s is: give it a conduct", c.Name(), key)
			}
			fmt.Fprintf(&text, " %s |", value)
		}
		text.WriteString("\n")
	}
	for _, c := range commands {
		writeCommand(&text, c)
	}
	return text.String()
}

// nameOf returns the name of a command without that of the program.
func nameOf(c *cobra.Command) string { return strings.TrimPrefix(c.CommandPath(), c.Root().Name()+" ") }

func writeCommand(text *strings.Builder, c *cobra.Command) {
	long := c.Long
	if long == "" {
		long = c.Short + "."
	}
	fmt.Fprintf(text, "\n## %s\n\n    %s\n\n%s\n", nameOf(c), strings.TrimSuffix(c.UseLine(), " [flags]"), long)
	if c.Example != "" {
		fmt.Fprintf(text, "\n```sh\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	var rows strings.Builder
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" && f.Shorthand != f.Name {
			name = "-" + f.Shorthand + ", " + name
		}
		value := f.DefValue
		if value == "[]" {
			value = ""
		}
		if value != "" {
			value = "`" + value + "`"
		}
		fmt.Fprintf(&rows, "| `%s` | %s | %s |\n", name, value, strings.ReplaceAll(f.Usage, "|", `\|`))
	})
	if rows.Len() > 0 {
		fmt.Fprintf(text, "\n| flag | default | |\n| --- | --- | --- |\n%s", rows.String())
	}
}
