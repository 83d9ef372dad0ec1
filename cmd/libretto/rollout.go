package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/livedefinition"
)

// textFormats are the formats of -o of commands that tell of a definition.
var textFormats = []string{"text", "json"}

// definitionArgument is how help names the argument.
const definitionArgument = `NAME is that of a definition of any kind, or KIND/NAME, as in cc/hello, if
several have it.`

func rolloutCommand(w process) *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Tell how far an edit of scripts has come, let it through, pause it",
		Long:  "Tell how far an edit of the scripts of a definition has come, let it through, pause it.",
		RunE: func(*cobra.Command, []string) error {
			return cannot(errors.New("rollout: name what to do: status, approve, promote, abort, pause or resume"))
		},
	}
	c.AddCommand(rolloutStatusCommand(w), rolloutApproveCommand(w), rolloutPauseCommand(w, true), rolloutPauseCommand(w, false))
	c.AddCommand(rolloutPromoteCommand(w), rolloutAbortCommand(w))
	return c
}

type rolloutStatusOptions struct {
	definitionOptions
	watch  bool
	output string
}

func rolloutStatusCommand(w process) *cobra.Command {
	o := &rolloutStatusOptions{definitionOptions: newDefinitionOptions(), output: "text"}
	o.timeout = 0
	c := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how far an edit of scripts has come",
		Long: `Tell how far an edit of the scripts of a definition has come: its phase, the
step and how many parents have it, the revisions, what is held or was rolled
back and why, and the way out. Definitions without spec.scriptRollout have a
phase too: Held while an edit is held by its preview, NotReady while the newest
scripts do not load or fail their tests, RevisionUnavailable while a revision that
is pinned can't be had, else Complete. A pin is Complete whatever the scripts hold.

An edit that the host has not seen yet can't be told: after kubectl apply of a
ConfigMap the former revision is Complete for a moment.
` + definitionArgument,
		Example: `  libretto rollout status hello
  libretto rollout status cc/hello --watch --timeout 30m
  libretto rollout status hello -o json`,
		Args:              exactly(1, 1, "one definition"),
		ValidArgsFunction: o.complete(w),
		RunE:              func(c *cobra.Command, args []string) error { return runRolloutStatus(c.Context(), w, o, args[0]) },
	}
	o.addTo(c.Flags())
	c.Flags().Lookup("timeout").Usage = "how long to wait with --watch; 0 means no limit"
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "tell each change, until the rollout is complete, held or rolled back")
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "text or json; with --watch one document for each change")
	completeFlag(c, "output", textFormats...)
	finish(c, conduct{
		success:  "the newest scripts, or the revision that is pinned, serve all parents; without `--watch` also if they are on their way or paused",
		problems: "the edit is held or rolled back, the scripts do not load, or a revision that is needed is not archived",
		cannot:   "a flag is wrong, there is no such definition, the cluster can't be read, or `--timeout` is over",
		stdout:   "the status, as -o says", stderr: "warnings; errors",
	})
	return c
}

// finish completes a command about definitions.
func finish(c *cobra.Command, promise conduct) {
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error { return cannot(explainFlag(c, err)) })
	promise.addTo(c)
}

// runRolloutStatus tells the status, and returns an *exitError if the edit is held or was rolled back.
func runRolloutStatus(ctx context.Context, w process, o *rolloutStatusOptions, argument string) error {
	if err := isOneOf("-o", o.output, textFormats); err != nil {
		return cannot(err)
	}
	ctx, cancel := withTimeout(ctx, o.timeout)
	defer cancel()
	client, d, err := o.find(ctx, w, argument)
	if err != nil {
		return cannot(causeOf(ctx, err))
	}
	var last *livedefinition.RolloutStatus
	told := ""
	tell := func(d *livedefinition.Definition) (more bool, err error) {
		last = d.RolloutStatus()
		var text strings.Builder
		if o.output == "json" {
			err = writeJSON(&text, last)
		} else {
			err = last.Write(&text)
		}
		if err == nil && text.String() != told {
			told = text.String()
			_, err = io.WriteString(w.stdout, told)
		}
		return !last.Ended(), err
	}
	if o.watch {
		err = client.Follow(ctx, d, tell)
	} else {
		_, err = tell(d)
	}
	if err != nil {
		return cannot(causeOf(ctx, err))
	}
	if last.Stopped() {
		return &exitError{code: exitProblems}
	}
	return nil
}

// writeJSON writes a value as JSON for people and programs.
func writeJSON(out io.Writer, value any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// writes is the conduct of the commands that write.
func writes(problem string) conduct {
	return conduct{
		success: "it is written, or was so already",
		cannot:  "a flag is wrong, there is no such definition, " + problem + ", or the cluster can't be read or written",
		stdout:  "what was done, and what follows", stderr: "warnings; errors",
	}
}

func rolloutApproveCommand(w process) *cobra.Command {
	o, reason := newWriteOptions(), ""
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
` + definitionArgument,
		Example: `  libretto rollout approve hello
  libretto rollout approve cc/hello 1060ddcff4550b3b --reason "moves to StatefulSets, CHG-1234"`,
		Args:              exactly(1, 2, "one definition, and a revision if you like"),
		ValidArgsFunction: o.complete(w),
		RunE: func(c *cobra.Command, args []string) error {
			revision := ""
			if len(args) > 1 {
				revision = args[1]
			}
			return o.write(c.Context(), w, args[0], func(ctx context.Context, t target) (*livedefinition.Change, error) {
				return t.Approve(ctx, t.definition, revision, reason, t.dryRun)
			})
		},
	}
	o.addTo(c)
	c.Flags().StringVar(&reason, "reason", reason, "why, for the status and the event of the definition")
	finish(c, writes("nothing is held, another edit is held meanwhile"))
	return c
}

func rolloutPauseCommand(w process, pause bool) *cobra.Command {
	o := newWriteOptions()
	c := &cobra.Command{
		Use:   "pause NAME",
		Short: "Keep every parent at its revision of the scripts",
		Long: `Keep every parent of a definition at its revision of the scripts: no edit begins,
and no step ends. Parents are synced as before.

It writes spec.scriptRollout.paused. A GitOps tool that has the definition may
take that back.
` + definitionArgument,
		Example: `  libretto rollout pause hello`,
	}
	if !pause {
		c.Use, c.Short = "resume NAME", "Go on with edits of scripts after a pause"
		c.Long = `Go on with edits of the scripts of a definition after libretto rollout pause.

It takes spec.scriptRollout.paused away.
` + definitionArgument
		c.Example = `  libretto rollout resume hello`
	}
	c.Args, c.ValidArgsFunction = exactly(1, 1, "one definition"), o.complete(w)
	c.RunE = func(c *cobra.Command, args []string) error {
		return o.write(c.Context(), w, args[0], func(ctx context.Context, t target) (*livedefinition.Change, error) {
			return t.Write(ctx, t.definition, t.dryRun, livedefinition.Pause(pause))
		})
	}
	o.addTo(c)
	finish(c, writes("the API server refuses it"))
	return c
}
