package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
)

func pauseCommand(w cli.Process, pause bool) *cobra.Command {
	o := livedefinition.NewWriteFlags()
	c := &cobra.Command{
		Use:   "pause NAME",
		Short: "Keep every parent at its revision of the scripts",
		Long: `Keep every parent of a definition at its revision of the scripts: no edit begins,
and no step ends. Parents are synced as before.

It writes spec.scriptRollout.paused. A GitOps tool that has the definition may
take that back.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollout pause hello`,
	}
	if !pause {
		c.Use, c.Short = "resume NAME", "Go on with edits of scripts after a pause"
		c.Long = `Go on with edits of the scripts of a definition after libretto rollout pause.

It takes spec.scriptRollout.paused away.
` + livedefinition.ArgumentHelp
		c.Example = `  libretto rollout resume hello`
	}
	c.Args, c.ValidArgsFunction = cli.Exactly(1, 1, "one definition"), o.Complete(w)
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.Write(c.Context(), w, args[0], func(ctx context.Context, t livedefinition.Target) (*livedefinition.Change, error) {
			return t.Write(ctx, t.Definition, t.DryRun, livedefinition.Pause(pause))
		})
	}
	o.AddTo(c)
	cli.Finish(c, livedefinition.WriteConduct("the API server refuses it"))
	return c
}
