// Package revision implements libretto revision: it prints the IDs that a host gives to the scripts of definitions in files.
package revision

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/check"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/scripts"
)

type revisionOptions struct {
	manifests cli.ManifestFlags
	output    string
}

// Command returns libretto revision.
func Command(w cli.Process) *cobra.Command {
	o := &revisionOptions{output: "text"}
	c := &cobra.Command{
		Use:   "revision -f FILE|DIRECTORY|-",
		Short: "Print the IDs that a host gives to the scripts of definitions",
		Long: `Print the ID that a host gives to the revision of the scripts of each definition
among the files, before it has them: so the approval of an edit that a preview
would hold can be written in the same commit, as the annotation
metacontroller.k8s.io/approved-revision of the definition or of a ConfigMap of its
scripts. Annotations are no part of a revision; the texts, the names of the
files, and what the definition says of its script hooks are. Nothing is sent.

Definitions are checked first, as by libretto check: what has errors never serves.`,
		Example: `  libretto revision -f controller/
  libretto revision -f controller.yaml -o json | jq -r '.[].revision'`,
		RunE: func(c *cobra.Command, args []string) error { return runRevision(c.Context(), w, o, args) },
	}
	o.manifests.AddTo(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "text or json")
	cli.LimitFlag(c, "output", cli.TextFormats...)
	cli.Finish(c, cli.Conduct{
		Success: "the IDs were printed", Problems: "check found an error; nothing is printed",
		Cannot: "a bad flag, an unreadable file, no definition", Stdin: "with `-f -`",
		Stdout: "a line for each definition with scripts, KIND/NAME and 64 digits; or JSON",
		Stderr: "errors of check; definitions without scripts",
	})
	return c
}

// definitionRevision is the revision of the scripts of a definition.
type definitionRevision struct {
	Kind     string             `json:"kind"`
	Name     string             `json:"name"`
	Revision scripts.RevisionID `json:"revision"`
}

// runRevision prints the IDs of all definitions, or of none of them.
func runRevision(ctx context.Context, w cli.Process, o *revisionOptions, args []string) error {
	return check.Passing(ctx, w, &o.manifests, args, func(set *manifest.Set, registry *engines.Registry) error {
		return o.write(w, set, registry)
	})
}

// write prints the IDs.
func (o *revisionOptions) write(w cli.Process, set *manifest.Set, registry *engines.Registry) error {
	all := []definitionRevision{}
	for _, definition := range set.Definitions {
		spec, err := check.Scripts(set, definition)
		if err != nil {
			return fmt.Errorf("%s: %w", manifest.Name(definition), err)
		}
		if len(spec.Hooks) == 0 {
			fmt.Fprintf(w.Stderr, "%s: no hook is a script: what a server answers has no revision\n", manifest.Name(definition))
			continue
		}
		id, err := scripts.Identify(registry, spec, set.Contents)
		if err != nil {
			return fmt.Errorf("%s: %w", manifest.Name(definition), err)
		}
		all = append(all, definitionRevision{definition.GetKind(), definition.GetName(), id})
	}
	if o.output == "json" {
		return cli.WriteJSON(w.Stdout, all)
	}
	for _, d := range all {
		if _, err := fmt.Fprintf(w.Stdout, "%s/%s %s\n", strings.ToLower(d.Kind), d.Name, d.Revision); err != nil {
			return err
		}
	}
	return nil
}
