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
		Short: "Write types of hooks for editors: libretto.d.ts and tsconfig.json",
		Long: "Writes libretto.d.ts, the types of all hooks' requests and responses and of the module \"libretto\", and a tsconfig.json with which\n" +
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
	conduct{success: "both files are there", problems: "a file can't be written, or was edited", stdout: "a line for each file"}.addTo(c)
	c.Flags().StringVar(&directory, "directory", directory, "where to write them: beside the scripts")
	c.Flags().BoolVar(&force, "force", force, "write both files, whatever is there")
	return c
}

// writeTypes writes both files and returns a line for each.
func writeTypes(directory string, force bool) ([]string, error) {
	declarations, project := filepath.Join(directory, "libretto.d.ts"), filepath.Join(directory, "tsconfig.json")
	present, err := read(declarations)
	if err != nil {
		return nil, err
	}
	if present != "" && !force && !isUnedited(present) {
		return nil, fmt.Errorf("%s was edited, or is none of this program's: move it away, or replace it with --force", declarations)
	}
	if err := os.WriteFile(declarations, []byte(withStamp(authoring.Declarations)), 0o644); err != nil {
		return nil, err
	}
	lines := []string{"wrote " + declarations}
	present, err = read(project)
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
