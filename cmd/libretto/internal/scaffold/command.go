package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/jsonschema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/types"
)

type initOptions struct {
	Options
	directory string
	force     bool
}

// Command returns libretto init.
func Command(w cli.Process) *cobra.Command {
	o := &initOptions{Options: Options{Language: "ts"}}
	c := &cobra.Command{
		Use:   "init composite|decorator|map [NAME]",
		Short: "Write a new controller: a definition, its script, and a test that passes",
		Long: `Write a new controller: a definition, its script, and a test that passes.

composite    a kind of your own, whose objects have children: here a Deployment
             and a Service
decorator    adds to objects of others: here a PodDisruptionBudget for each
             Deployment with an annotation
map          makes outputs of inputs: here a ResourceQuota for each Namespace
             that an object of your own kind selects

The folder has all that the controller needs, an example to try, types and JSON
schemas for editors, and a README.md. No file is overwritten.`,
		Example: `  libretto init composite --lang ts webapp
  libretto init map --lang cel --kind TeamQuota --group platform.example.com
  libretto init decorator --lang jsonnet budgets --dir controllers/budgets`,
		Args: cli.Exactly(1, 2, "what to write, and a name if you like: "+strings.Join(Variants, "|")+" [NAME]"),
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return Variants, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			o.Variant, o.Program = args[0], c.Root().DisplayName()
			if len(args) == 2 {
				o.Name = args[1]
			}
			return cli.Cannot(runInit(c.Context(), w, o))
		},
	}
	c.Flags().StringVar(&o.Language, "lang", o.Language, "language of the script: "+strings.Join(Languages, ", "))
	c.Flags().StringVar(&o.directory, "dir", "", "folder to write to (default NAME)")
	c.Flags().StringVar(&o.Kind, "kind", "", "kind of the parent (default made from NAME)")
	c.Flags().StringVar(&o.Group, "group", "", "API group of the kind, and prefix of a decorator's annotation (default example.com)")
	c.Flags().BoolVar(&o.force, "force", o.force, "overwrite files that are there")
	cli.CompleteFlag(c, "lang", Languages...)
	cli.Finish(c, cli.Conduct{
		Success: "all files are written", Cannot: "a file is there already or can't be written, or an option is wrong",
		Stdout: "a line for each file, and what to do next",
	})
	return c
}

// runInit writes the files, and nothing if one of them is there.
func runInit(ctx context.Context, w cli.Process, o *initOptions) error {
	controller, err := New(o.Options)
	if err != nil {
		return err
	}
	directory := o.directory
	if directory == "" {
		directory = controller.Name
	}
	names := editorFiles(controller)
	for _, file := range controller.Files {
		names = append(names, file.Name)
	}
	if err := absent(directory, names, o.force); err != nil {
		return err
	}
	for _, file := range controller.Files {
		if err := cli.WriteFile(filepath.Join(directory, file.Name), file.Text); err != nil {
			return err
		}
	}
	if err := writeEditorFiles(ctx, w, controller, directory); err != nil {
		return err
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintln(w.Stdout, "wrote", filepath.Join(directory, name))
	}
	example := filepath.Join(directory, "example.yaml")
	const next = "\nNext:\n  %[1]s test %[2]s\n  %[1]s dev %[2]s   # without a cluster; it prints how kubectl reaches it, for:\n" +
		"  kubectl apply -f %[3]s\n"
	fmt.Fprintf(w.Stdout, next, o.Program, directory, example)
	return nil
}

// absent returns an error that names the files that are there, unless they may be overwritten.
func absent(directory string, names []string, force bool) error {
	var present []string
	for _, name := range names {
		_, err := os.Lstat(filepath.Join(directory, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		default:
			present = append(present, filepath.Join(directory, name))
		}
	}
	if len(present) > 0 && !force {
		slices.Sort(present)
		return fmt.Errorf("%s: there already, nothing was written: choose another folder with --dir, or overwrite with --force",
			strings.Join(present, ", "))
	}
	return nil
}

// schemaFolder is the folder of the JSON schemas that the files name in their first line.
const schemaFolder = "schemas"

// HasTypes reports whether types are of use to the script's language.
func (c *Controller) HasTypes() bool { return c.Language == "ts" || c.Language == "js" }

// editorFiles are the names of the files for editors: JSON schemas, and types for TypeScript and JavaScript.
func editorFiles(c *Controller) []string {
	names := []string{filepath.Join(schemaFolder, jsonschema.TestFile), filepath.Join(schemaFolder, jsonschema.DefinitionFile(c.Definition))}
	if c.HasTypes() {
		names = append(names, "libretto.d.ts", "libretto-test.d.ts", "resources.d.ts", "tsconfig.json")
	}
	return names
}

// writeEditorFiles writes the files for editors, as the command types does.
func writeEditorFiles(ctx context.Context, w cli.Process, c *Controller, directory string) error {
	definition, err := jsonschema.Definition(c.Definition)
	if err != nil {
		return err
	}
	for _, file := range []jsonschema.File{jsonschema.Tests(), definition} {
		if _, err := types.WriteStamped(w.Version, nil, filepath.Join(directory, schemaFolder, file.Name), string(file.Text), true); err != nil {
			return err
		}
	}
	if !c.HasTypes() {
		return nil
	}
	w.Stderr = io.Discard // README.md says how to have types of built-in kinds.
	_, err = types.Write(ctx, w, &types.Flags{Directory: directory, Force: true, Crds: []string{directory}})
	return err
}
