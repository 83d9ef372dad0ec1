package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
)

func approveCommand(w cli.Process) *cobra.Command {
	o, reason := livedefinition.NewWriteFlags(), ""
	c := &cobra.Command{
		Use:   "approve NAME [REVISION]",
		Short: "Let an edit of scripts through that is held or was rolled back",
		Long: `Let an edit of the scripts of a definition through that is held or was rolled
back. It takes over whatever its preview says, and no other edit does: if another
one is held meanwhile, nothing is written. REVISION is an ID, in full or the first
16 digits; it may be one that comes later.

It writes the annotation metacontroller.k8s.io/approved-revision of the definition,
and with --reason metacontroller.k8s.io/approval-reason. Where the admission policy of
manifests/approval is applied, that takes the verb approve on the definition.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollout approve hello
  libretto rollout approve cc/hello 1060ddcff4550b3b --reason "moves to StatefulSets, CHG-1234"`,
		Args:              cli.Exactly(1, 2, "one definition, and a revision if you like"),
		ValidArgsFunction: o.Complete(w),
		RunE: func(c *cobra.Command, args []string) error {
			revision := ""
			if len(args) > 1 {
				revision = args[1]
			}
			return o.Write(c.Context(), w, args[0], func(ctx context.Context, t livedefinition.Target) (*livedefinition.Change, error) {
				return t.Approve(ctx, t.Definition, revision, reason, t.DryRun)
			})
		},
	}
	o.AddTo(c)
	c.Flags().StringVar(&reason, "reason", reason, "why, for the status and the event of the definition")
	cli.Finish(c, livedefinition.WriteConduct("nothing is held, another edit is held meanwhile"))
	return c
}
