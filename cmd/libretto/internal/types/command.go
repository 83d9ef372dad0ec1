package types

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

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/jsonschema"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines/authoring"
	"github.com/libretto-k8s/libretto/engines/standard"
)

// Flags are the flags of types.
type Flags struct {
	Directory       string
	Force           bool
	Crds            []string
	kubernetesTypes bool
	schemas         string
}

// Command returns libretto types.
func Command(w cli.Process) *cobra.Command {
	o := &Flags{Directory: "."}
	c := &cobra.Command{
		Use:   "types [--crd FILE|DIRECTORY|-] [--schemas DIRECTORY]",
		Short: "Write types of hooks for editors, or JSON schemas of tests and definitions",
		Long: "Writes libretto.d.ts, the types of all hooks' requests and responses and of the module \"libretto\", libretto-test.d.ts, those of the\n" +
			"module \"libretto/test\", and a tsconfig.json with which\n" +
			"TypeScript and plain JavaScript are checked as they run in the host. A libretto.d.ts of another version is replaced, one that was\n" +
			"edited is not. A tsconfig.json that is there is yours and stays as it is.\n\n" +
			"With --crd it writes resources.d.ts too: the types of custom resources, made from the schemas of CustomResourceDefinitions, and\n" +
			"those of the requests and responses of the definitions among the files, such as SyncRequest.\n\n" +
			"With --schemas it writes JSON schemas instead: of test files, of definitions, and with --crd of custom resources. Editors with the\n" +
			"YAML language server check a file that begins with # yaml-language-server: $schema=schemas/controllertest.schema.json",
		Example: `  libretto types
  libretto types --crd crd.yaml --crd definition.yaml
  libretto types --crd . --kubernetes-types   # after npm install --save-dev kubernetes-types
  libretto types --schemas schemas`,
		RunE: func(c *cobra.Command, args []string) error {
			o.Crds = append(o.Crds, args...)
			write := Write
			if o.schemas != "" {
				write = writeSchemas
			}
			lines, err := write(c.Context(), w, o)
			for _, line := range lines {
				fmt.Fprintln(c.OutOrStdout(), line)
			}
			return err
		},
	}
	cli.Finish(c, cli.Conduct{
		Success: "all files are there", Cannot: "a bad flag, a file that can't be read or written, or was edited", Stdin: "with `--crd -`",
		Stdout: "a line for each file", Stderr: "resources without types",
	})
	c.Flags().StringVar(&o.Directory, "directory", o.Directory, "where to write them: beside the scripts")
	c.Flags().BoolVar(&o.Force, "force", o.Force, "write all files, whatever is there")
	c.Flags().StringArrayVar(&o.Crds, "crd", nil,
		"file or directory with CustomResourceDefinitions, and with definitions, to write resources.d.ts of; may be repeated")
	c.Flags().BoolVar(&o.kubernetesTypes, "kubernetes-types", o.kubernetesTypes,
		"take the types of built-in kinds from the npm package kubernetes-types")
	c.Flags().StringVar(&o.schemas, "schemas", o.schemas, "write JSON schemas to this directory, instead of types")
	return c
}

// Write writes all files and returns a line for each.
func Write(ctx context.Context, w cli.Process, o *Flags) ([]string, error) {
	resources := ""
	if len(o.Crds) > 0 {
		var err error
		if resources, err = declareResources(ctx, w, o); err != nil {
			return nil, err
		}
	}
	lines, err := WriteStamped(w.Version, nil, filepath.Join(o.Directory, "libretto.d.ts"), authoring.Declarations, o.Force)
	if err == nil {
		lines, err = WriteStamped(w.Version, lines, filepath.Join(o.Directory, "libretto-test.d.ts"), authoring.TestDeclarations, o.Force)
	}
	if err == nil && resources != "" {
		lines, err = WriteStamped(w.Version, lines, filepath.Join(o.Directory, "resources.d.ts"), resources, o.Force)
	}
	if err != nil {
		return lines, err
	}
	project := filepath.Join(o.Directory, "tsconfig.json")
	present, err := read(project)
	if err != nil {
		return lines, err
	}
	if present != "" && !o.Force {
		return append(lines, "left "+project+" as it is"), nil
	}
	if err := os.WriteFile(project, []byte(authoring.Project), 0o644); err != nil {
		return lines, err
	}
	return append(lines, "wrote "+project), nil
}

// WriteStamped writes a file with a stamp, unless what is there was edited, and adds a line about it.
func WriteStamped(version string, lines []string, path, text string, force bool) ([]string, error) {
	present, err := read(path)
	if err != nil {
		return lines, err
	}
	if present != "" && !force && !isUnedited(present) {
		return lines, fmt.Errorf("%s was edited, or is none of this program's: move it away, or replace it with --force", path)
	}
	if err := cli.WriteFile(path, []byte(withStamp(version, text))); err != nil {
		return lines, err
	}
	return append(lines, "wrote "+path), nil
}

// declareResources returns the text of resources.d.ts, and reports what has no types.
func declareResources(ctx context.Context, w cli.Process, o *Flags) (string, error) {
	set, err := o.load(ctx, w)
	if err != nil {
		return "", err
	}
	declared, err := Declare(set, Options{KubernetesTypes: o.kubernetesTypes})
	if err != nil {
		return "", err
	}
	if len(declared.Untyped) > 0 {
		hint := ""
		if !o.kubernetesTypes {
			hint = ": npm install --save-dev kubernetes-types, and add --kubernetes-types"
		}
		fmt.Fprintf(w.Stderr, "the fields of %s are not checked%s\n", strings.Join(declared.Untyped, ", "), hint)
	}
	for _, resource := range declared.Unknown {
		fmt.Fprintf(w.Stderr, "the fields of %s are not checked: the CustomResourceDefinition is not among the files of --crd\n", resource)
	}
	return declared.Text, nil
}

// load loads the files of --crd.
func (o *Flags) load(ctx context.Context, w cli.Process) (*manifest.Set, error) {
	set, err := manifest.LoadValid(ctx, manifest.Options{Filenames: o.Crds, Stdin: w.Stdin, IsScript: standard.IsScript})
	if err == nil && len(set.CRDs) == 0 && len(set.Definitions) == 0 {
		err = fmt.Errorf("--crd %s: there is no CustomResourceDefinition and no definition among the files", strings.Join(o.Crds, " "))
	}
	return set, err
}

// writeSchemas writes the JSON schemas and returns a line for each.
func writeSchemas(ctx context.Context, w cli.Process, o *Flags) ([]string, error) {
	files, err := jsonschema.All()
	if err != nil {
		return nil, err
	}
	if len(o.Crds) > 0 {
		set, err := o.load(ctx, w)
		if err != nil {
			return nil, err
		}
		for _, crd := range set.CRDs {
			custom, err := jsonschema.Custom(crd.Object.Object)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", crd.Location, err)
			}
			files = append(files, custom...)
		}
	}
	var lines []string
	for _, file := range files {
		if lines, err = WriteStamped(w.Version, lines, filepath.Join(o.schemas, file.Name), string(file.Text), o.Force); err != nil {
			return lines, err
		}
	}
	return lines, nil
}

// read returns the contents of a file, or "" if it does not exist.
func read(path string) (string, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return string(text), err
}

// A line of a written file holds the version and a checksum of the rest: the first one, or the second one of an object of JSON.
const (
	stampStart = "Written by libretto types, version "
	stampSum   = ", with a checksum to tell edits by: "
	codeStart  = "// " + stampStart
	jsonStart  = " \"$comment\": \"" + stampStart
)

func withStamp(version, text string) string {
	if rest, ok := strings.CutPrefix(text, "{\n"); ok {
		return "{\n" + jsonStart + version + stampSum + checksum(text) + "\",\n" + rest
	}
	return codeStart + version + stampSum + checksum(text) + "\n" + text
}

// isUnedited reports whether a file is as some version wrote it. Line ends are ignored: git may have
// changed them.
func isUnedited(text string) bool {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	start, before := codeStart, ""
	if rest, ok := strings.CutPrefix(text, "{\n"); ok {
		text, start, before = rest, jsonStart, "{\n"
	}
	first, rest, _ := strings.Cut(text, "\n")
	_, sum, found := strings.Cut(first, stampSum)
	return found && strings.HasPrefix(first, start) && strings.TrimSuffix(sum, "\",") == checksum(before+rest)
}

func checksum(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text)))[:16] }
