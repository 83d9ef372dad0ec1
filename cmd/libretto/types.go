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
			told, err := writeTypes(directory, force)
			for _, line := range told {
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			return err
		},
	}
	c.Flags().StringVar(&directory, "directory", directory, "where to write them: beside the scripts")
	c.Flags().BoolVar(&force, "force", force, "write both files, whatever is there")
	return c
}

// writeTypes writes both files and says what became of each.
func writeTypes(directory string, force bool) ([]string, error) {
	declarations, project := filepath.Join(directory, "libretto.d.ts"), filepath.Join(directory, "tsconfig.json")
	present, err := read(declarations)
	if err != nil {
		return nil, err
	}
	if present != "" && !force && !intact(present) {
		return nil, fmt.Errorf("%s was edited, or is none of this program's: move it away, or replace it with --force", declarations)
	}
	if err := os.WriteFile(declarations, []byte(stamped(authoring.Declarations)), 0o644); err != nil {
		return nil, err
	}
	told := []string{"wrote " + declarations}
	present, err = read(project)
	if err != nil {
		return told, err
	}
	if present != "" && !force {
		return append(told, "left "+project+" as it is"), nil
	}
	if err := os.WriteFile(project, []byte(authoring.Project), 0o644); err != nil {
		return told, err
	}
	return append(told, "wrote "+project), nil
}

// read gives the text of a file, or "" if there is none.
func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// The first line of what was written says by which version, and what the rest was then.
const (
	stampStart = "// Written by libretto types, version "
	stampSum   = ", with a checksum to tell edits by: "
)

func stamped(text string) string {
	return stampStart + version + stampSum + checksum(text) + "\n" + text
}

// intact says whether a file is as some version wrote it. Line ends are not looked at:
// git may have changed them.
func intact(text string) bool {
	first, rest, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	_, sum, found := strings.Cut(first, stampSum)
	return found && strings.HasPrefix(first, stampStart) && sum == checksum(rest)
}

func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }
