// Package history implements libretto history: it lists the archived revisions of the scripts of a definition, and compares them.
package history

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
)

type historyOptions struct {
	livedefinition.Flags
	output string
}

// Command returns libretto history.
func Command(w cli.Process) *cobra.Command {
	o := &historyOptions{Flags: livedefinition.NewFlags(), output: "text"}
	c := &cobra.Command{
		Use:   "history NAME [REVISION [REVISION]]",
		Short: "List the archived revisions of scripts, or compare two",
		Long: `List the archived revisions of the scripts of a definition, the newest first: the
last ten that served. With one REVISION, its number or ID, list the files; with
-o json also print them. With two, print the difference as a unified diff.
` + livedefinition.ArgumentHelp,
		Example: `  libretto history hello
  libretto history hello 3
  libretto history hello 2 3
  libretto history hello 3 -o json | jq -r '.files["sync.js"]'`,
		Args:              cli.Exactly(1, 3, "one definition, and one or two revisions if you like"),
		ValidArgsFunction: o.Complete(w),
		RunE:              func(c *cobra.Command, args []string) error { return runHistory(c.Context(), w, o, args) },
	}
	o.AddTo(c.Flags())
	o.AddHostNamespace(c.Flags())
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "text or json")
	cli.LimitFlag(c, "output", cli.TextFormats...)
	cli.Finish(c, cli.Conduct{
		Success: "always", Cannot: "a flag is wrong, there is no such definition or revision, or the cluster can't be read",
		Stdout: "the revisions, files or difference", Stderr: "warnings; errors", Colour: "the difference",
	})
	return c
}

func runHistory(ctx context.Context, w cli.Process, o *historyOptions, args []string) error {
	ctx, cancel := cli.WithTimeout(ctx, o.Timeout)
	defer cancel()
	client, d, err := o.Find(ctx, w, args[0])
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	history, err := client.History(ctx, d)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	return cli.Cannot(cli.CauseOf(ctx, o.tell(ctx, w, history, args[1:])))
}

// tell writes what was asked for.
func (o *historyOptions) tell(ctx context.Context, w cli.Process, history *livedefinition.History, revisions []string) error {
	var found []*livedefinition.RevisionFiles
	for _, revision := range revisions {
		files, err := history.Files(ctx, revision)
		if err != nil {
			return err
		}
		found = append(found, files)
	}
	switch {
	case len(found) == 2 && o.output == "json":
		return errors.New("-o json: a difference is text: compare the files of each revision")
	case len(found) == 2:
		return livedefinition.WriteDifference(w.Stdout, found[0], found[1], w.IsColoured())
	case len(found) == 1 && o.output == "json":
		return cli.WriteJSON(w.Stdout, found[0])
	case len(found) == 1:
		return found[0].Write(w.Stdout, time.Now())
	case o.output == "json":
		return cli.WriteJSON(w.Stdout, history)
	}
	return history.Write(w.Stdout, time.Now())
}
