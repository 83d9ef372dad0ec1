package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/livedefinition"
)

func rollbackCommand(w process) *cobra.Command {
	o := newWriteOptions()
	var revision string
	var unpin bool
	c := &cobra.Command{
		Use:   "rollback NAME [--to-revision REVISION]",
		Short: "Put a former revision of scripts to work",
		Long: `Put a former, archived revision of the scripts of a definition to work, for all
parents at once and whatever the scripts hold now: it is pinned, until --unpin.
Without --to-revision it is the one before the edit that is being rolled out,
else the last one that was archived before the one that serves.

It writes spec.scriptRollout.revision, or with --unpin takes it away. A GitOps
tool that has the definition may take that back.
` + definitionArgument,
		Example: `  libretto rollback hello
  libretto rollback hello --to-revision 3
  libretto rollback cc/hello --to-revision 1060ddcff4550b3b --dry-run=server
  libretto rollback hello --unpin`,
		Args:              exactly(1, 1, "one definition"),
		ValidArgsFunction: o.complete(w),
		RunE: func(c *cobra.Command, args []string) error {
			if unpin && revision != "" {
				return cannot(errors.New("--to-revision and --unpin exclude each other"))
			}
			return o.write(c.Context(), w, args,
				func(ctx context.Context, client *livedefinition.Client, d *livedefinition.Definition, dryRun livedefinition.DryRun) (*livedefinition.Change, error) {
					if unpin {
						return client.Write(ctx, d, dryRun, livedefinition.Unpin)
					}
					pin, err := pinTo(ctx, client, d, revision)
					if err != nil {
						return nil, err
					}
					return client.Write(ctx, d, dryRun, pin)
				})
		},
	}
	o.addTo(c)
	o.addHostNamespace(c.Flags())
	c.Flags().StringVar(&revision, "to-revision", "", "the number of an archived revision, or its ID: see libretto history")
	c.Flags().BoolVar(&unpin, "unpin", false, "let the newest scripts serve again")
	finish(c, writes("no such revision is archived"))
	return c
}

// pinTo decides on a pin to a revision, or the one before what serves.
func pinTo(ctx context.Context, client *livedefinition.Client, d *livedefinition.Definition, revision string) (livedefinition.Decide, error) {
	history, err := client.History(ctx, d)
	if err != nil {
		return nil, err
	}
	var to *livedefinition.Revision
	if revision == "" {
		to, err = history.Previous()
	} else {
		to, err = history.Find(revision)
	}
	if err != nil {
		return nil, err
	}
	if _, err := history.Load(ctx, to); err != nil { // It is whole.
		return nil, err
	}
	return livedefinition.Pin(d, to.ID), nil
}
