package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/typescript"
	"github.com/libretto-k8s/libretto/engines/authoring"
)

// typesOptions are the flags of types.
type typesOptions struct {
	directory       string
	force           bool
	crds            []string
	kubernetesTypes bool
}

func typesCommand(w process) *cobra.Command {
	o := &typesOptions{directory: "."}
	c := &cobra.Command{
		Use:   "types [--crd FILE|DIRECTORY|-]",
		Short: "Write types of hooks for editors: libretto.d.ts and tsconfig.json",
		Long: "Writes libretto.d.ts, the types of all hooks' requests and responses and of the module \"libretto\", and a tsconfig.json with which\n" +
			"TypeScript and plain JavaScript are checked as they run in the host. A libretto.d.ts of another version is replaced, one that was\n" +
			"edited is not. A tsconfig.json that is there is yours and stays as it is.\n\n" +
			"With --crd it writes resources.d.ts too: the types of custom resources, made from the schemas of CustomResourceDefinitions, and\n" +
			"those of the requests and responses of the definitions among the files, such as SyncRequest.",
		Example: `  libretto types
  libretto types --crd crd.yaml --crd definition.yaml
  libretto types --crd . --kubernetes-types   # after npm install --save-dev kubernetes-types`,
		RunE: func(c *cobra.Command, args []string) error {
			o.crds = append(o.crds, args...)
			lines, err := writeTypes(c.Context(), w, o)
			for _, line := range lines {
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			return err
		},
	}
	conduct{
		success: "all files are there", problems: "a file can't be written, or was edited", stdin: "with `--crd -`",
		stdout: "a line for each file", stderr: "resources without types",
	}.addTo(c)
	c.Flags().StringVar(&o.directory, "directory", o.directory, "where to write them: beside the scripts")
	c.Flags().BoolVar(&o.force, "force", o.force, "write all files, whatever is there")
	c.Flags().StringArrayVar(&o.crds, "crd", nil, "file or directory with CustomResourceDefinitions, and with definitions, to write resources.d.ts of; may be repeated")
	c.Flags().BoolVar(&o.kubernetesTypes, "kubernetes-types", o.kubernetesTypes, "take the types of built-in kinds from the npm package kubernetes-types")
	return c
}

// writeTypes writes all files and returns a line for each.
func writeTypes(ctx context.Context, w process, o *typesOptions) ([]string, error) {
	resources := ""
	if len(o.crds) > 0 {
		var err error
		if resources, err = declareResources(ctx, w, o); err != nil {
			return nil, err
		}
	}
	lines, err := writeStamped(nil, filepath.Join(o.directory, "libretto.d.ts"), authoring.Declarations, o.force)
	if err == nil && resources != "" {
		lines, err = writeStamped(lines, filepath.Join(o.directory, "resources.d.ts"), resources, o.force)
	}
	if err != nil {
		return lines, err
	}
	project := filepath.Join(o.directory, "tsconfig.json")
	present, err := read(project)
	if err != nil {
		return lines, err
	}
	if present != "" && !o.force {
		return append(lines, "left "+project+" as it is"), nil
	}
	if err := os.WriteFile(project, []byte(authoring.Project), 0o644); err != nil {
		return lines, err
	}
	return append(lines, "wrote "+project), nil
}

// writeStamped writes a file with a stamp, unless what is there was edited, and adds a line about it.
func writeStamped(lines []string, path, text string, force bool) ([]string, error) {
	present, err := read(path)
	if err != nil {
		return lines, err
	}
	if present != "" && !force && !isUnedited(present) {
		return lines, fmt.Errorf("%s was edited, or is none of this program's: move it away, or replace it with --force", path)
	}
	if err := os.WriteFile(path, []byte(withStamp(text)), 0o644); err != nil {
		return lines, err
	}
	return append(lines, "wrote "+path), nil
}

// declareResources returns the text of resources.d.ts, and reports what has no types.
func declareResources(ctx context.Context, w process, o *typesOptions) (string, error) {
	set, err := manifest.Load(ctx, manifest.Options{Filenames: o.crds, Stdin: w.stdin})
	if err == nil {
		err = set.Err()
	}
	if err != nil {
		return "", err
	}
	if len(set.CRDs) == 0 && len(set.Definitions) == 0 {
		return "", fmt.Errorf("--crd %s: there is no CustomResourceDefinition and no definition among the files", strings.Join(o.crds, " "))
	}
	declared, err := typescript.Declare(set, typescript.Options{KubernetesTypes: o.kubernetesTypes})
	if err != nil {
		return "", err
	}
	if len(declared.Untyped) > 0 {
		hint := ""
		if !o.kubernetesTypes {
			hint = ": npm install --save-dev kubernetes-types, and add --kubernetes-types, to have them checked"
		}
		fmt.Fprintf(w.stderr, "%s: have any fields%s\n", strings.Join(declared.Untyped, ", "), hint)
	}
	for _, resource := range declared.Unknown {
		fmt.Fprintf(w.stderr, "%s: have any fields: their CustomResourceDefinition is not among the files of --crd\n", resource)
	}
	return declared.Text, nil
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
