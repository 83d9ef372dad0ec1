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
else the one that served before the one that serves: a second rollback goes forth
again, as that of kubectl rollout undo does.

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
			return o.write(c.Context(), w, args[0], func(ctx context.Context, t target) (*livedefinition.Change, error) {
				if unpin {
					return t.Write(ctx, t.definition, t.dryRun, livedefinition.Unpin)
				}
				return rollBack(ctx, t, revision)
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

// rollBack pins an archived revision, or the one before what serves.
func rollBack(ctx context.Context, t target, revision string) (*livedefinition.Change, error) {
	history, err := t.History(ctx, t.definition)
	if err != nil {
		return nil, err
	}
	var to *livedefinition.Revision
	var notes []string
	if revision == "" {
		var guessed bool
		if to, guessed, err = history.Previous(); guessed {
			notes = []string{"the status does not say what served before: this revision was archived before the one that served"}
		}
	} else {
		to, err = history.Find(revision)
	}
	if err != nil {
		return nil, err
	}
	if _, err := history.Load(ctx, to); err != nil { // It is whole.
		return nil, err
	}
	return t.Write(ctx, t.definition, t.dryRun, livedefinition.Pin(t.definition, to.ID, notes...))
}
