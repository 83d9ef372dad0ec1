package rollout

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

func promoteCommand(w cli.Process) *cobra.Command {
	o := livedefinition.NewWriteFlags()
	full := false
	c := &cobra.Command{
		Use:   "promote NAME",
		Short: "Go on to the next step of an edit of scripts now",
		Long: `Go on to the next step of an edit of the scripts of a definition that is rolled
out in steps, whatever the present one waits for: its pause, children that are
not ready, or a selector that matches no parent. With --full all parents get the
edit at once. A parent that fails because of the edit counts as before.

It writes the annotation metacontroller.k8s.io/rollout-request of the definition,
which counts for the present step and no other one.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollout promote hello
  libretto rollout promote cc/hello --full`,
		RunE: func(c *cobra.Command, args []string) error {
			if full {
				return request(c.Context(), w, o, args[0], v1alpha1.PromoteFullRequest)
			}
			return request(c.Context(), w, o, args[0], v1alpha1.PromoteRequest)
		},
	}
	c.Flags().BoolVar(&full, "full", false, "let all parents have the edit at once")
	return finishRequest(c, w, o)
}

func abortCommand(w cli.Process) *cobra.Command {
	o := livedefinition.NewWriteFlags()
	return finishRequest(&cobra.Command{
		Use:   "abort NAME",
		Short: "Take an edit of scripts back that is being rolled out",
		Long: `Take an edit of the scripts of a definition that is rolled out in steps back from
all parents, whatever spec.scriptRollout.failurePolicy is, and while it is paused
too. It is not tried again before another edit has taken its place, or it is
approved by name.

It writes the annotation metacontroller.k8s.io/rollout-request of the definition,
which counts for the present step and no other one.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollout abort hello`,
		RunE: func(c *cobra.Command, args []string) error {
			return request(c.Context(), w, o, args[0], v1alpha1.AbortRequest)
		},
	}, w, o)
}

// request asks for an action in the present step.
func request(ctx context.Context, w cli.Process, o *livedefinition.WriteFlags, argument, action string) error {
	return o.Write(ctx, w, argument, func(ctx context.Context, t livedefinition.Target) (*livedefinition.Change, error) {
		return t.Write(ctx, t.Definition, t.DryRun, livedefinition.Request(t.Definition, action))
	})
}

func finishRequest(c *cobra.Command, w cli.Process, o *livedefinition.WriteFlags) *cobra.Command {
	c.Args, c.ValidArgsFunction = cli.Exactly(1, 1, "one definition"), o.Complete(w)
	o.AddTo(c)
	cli.Finish(c, livedefinition.WriteConduct("no edit is rolled out in steps, or it has gone on meanwhile"))
	return c
}
