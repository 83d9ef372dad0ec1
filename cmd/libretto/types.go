package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/engines/authoring"
)

func typesCommand() *cobra.Command {
	directory, force := ".", false
	c := &cobra.Command{
		Use:   "types",
		Short: "Write types of hooks and tests for editors: libretto.d.ts, libretto-test.d.ts and tsconfig.json",
		Long: "Writes libretto.d.ts, the types of all hooks' requests and responses and of the module \"libretto\", libretto-test.d.ts, those of the\n" +
			"module \"libretto/test\", and a tsconfig.json with which\n" +
			"TypeScript and plain JavaScript are checked as they run in the host. A libretto.d.ts of another version is replaced, one that was\n" +
			"edited is not. A tsconfig.json that is there is yours and stays as it is.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			lines, err := writeTypes(directory, force)
			for _, line := range lines {
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			return err
		},
	}
	conduct{success: "all files are there", problems: "a file can't be written, or was edited", stdout: "a line for each file"}.addTo(c)
	c.Flags().StringVar(&directory, "directory", directory, "where to write them: beside the scripts")
	c.Flags().BoolVar(&force, "force", force, "write all files, whatever is there")
	return c
}

// writeTypes writes the files and returns a line for each.
func writeTypes(directory string, force bool) ([]string, error) {
	var lines []string
	for _, declarations := range []struct{ name, text string }{
		{"libretto.d.ts", authoring.Declarations}, {"libretto-test.d.ts", authoring.TestDeclarations},
	} {
		name := filepath.Join(directory, declarations.name)
		if err := writeDeclarations(name, declarations.text, force); err != nil {
			return lines, err
		}
		lines = append(lines, "wrote "+name)
	}
	project := filepath.Join(directory, "tsconfig.json")
	present, err := read(project)
	if err != nil {
		return lines, err
	}
	if present != "" && !force {
		return append(lines, "left "+project+" as it is"), nil
	}
	if err := os.WriteFile(project, []byte(authoring.Project), 0o644); err != nil {
		return lines, err
	}
	return append(lines, "wrote "+project), nil
}

// writeDeclarations writes a file of types, unless it was edited.
func writeDeclarations(name, text string, force bool) error {
	present, err := read(name)
	if err != nil {
		return err
	}
	if present != "" && !force && !isUnedited(present) {
		return fmt.Errorf("%s was edited, or is none of this program's: move it away, or replace it with --force", name)
	}
	return os.WriteFile(name, []byte(withStamp(text)), 0o644)
}

// read returns the contents of a file, or "" if it does not exist.
func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// The first line of a written file holds the version and a checksum of the rest.
const (
	stampStart = "// Written by libretto types, version "
	stampSum   = ", with a checksum to tell edits by: "
)

func withStamp(text string) string {
	return stampStart + version + stampSum + checksum(text) + "\n" + text
}

// isUnedited reports whether a file is as some version wrote it. Line ends are ignored: git may have
// changed them.
func isUnedited(text string) bool {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	_, sum, found := strings.Cut(first, stampSum)
	return found && strings.HasPrefix(first, stampStart) && sum == checksum(rest)
}

func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }
