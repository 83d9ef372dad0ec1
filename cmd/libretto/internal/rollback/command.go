// Package rollback implements libretto rollback: it pins an archived revision of scripts, once it is known what that does to the parents.
package rollback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/diff"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

type rollbackOptions struct {
	*livedefinition.WriteFlags
	host     cli.HostFlags
	revision string
	unpin    bool
	yes      bool
}

// Command returns libretto rollback.
func Command(w cli.Process) *cobra.Command {
	o := &rollbackOptions{WriteFlags: livedefinition.NewWriteFlags(), host: cli.NewHostFlags()}
	o.Timeout = 10 * time.Minute
	c := &cobra.Command{
		Use:   "rollback NAME [--to-revision REVISION]",
		Short: "Put a former revision of scripts to work",
		Long: `Put a former, archived revision of the scripts of a definition to work, for all
parents at once and whatever the scripts hold now: it is pinned, until --unpin.
Without --to-revision it is the one before the edit that is being rolled out,
else the one that served before the one that serves: a second rollback goes forth
again, as that of kubectl rollout undo does.

First it shows what that, or with --unpin the newest scripts, would do to the
parents of the cluster, as libretto diff does. If that is more than an edit may do
that nobody approves, by the limits of the definition or by the rule for all, or if
that is unknown, nothing is written without --yes, in dry runs too. With it the
revision is approved in the same write, which takes the right to approve.

It writes spec.scriptRollout.revision, or with --unpin takes it away. A GitOps
tool that has the definition may take that back.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollback hello
  libretto rollback hello --to-revision 3
  libretto rollback cc/hello --to-revision 1060ddcff4550b3b --dry-run=server
  libretto rollback hello --unpin`,
		Args:              cli.Exactly(1, 1, "one definition"),
		ValidArgsFunction: o.Complete(w),
		RunE: func(c *cobra.Command, args []string) error {
			if o.unpin && o.revision != "" {
				return cli.Cannot(errors.New("--to-revision and --unpin exclude each other"))
			}
			o.HostNamespace = o.host.Namespace
			return o.Write(c.Context(), w, args[0], func(ctx context.Context, t livedefinition.Target) (*livedefinition.Change, error) {
				return o.change(ctx, w, t)
			})
		},
	}
	o.AddTo(c)
	o.host.AddTo(c)
	c.Flags().StringVar(&o.revision, "to-revision", "", "the number of an archived revision, or its ID: see libretto history")
	c.Flags().BoolVar(&o.unpin, "unpin", false, "let the newest scripts serve again")
	c.Flags().BoolVarP(&o.yes, "yes", "y", false, "write it whatever it would do to the parents, and if that is unknown")
	promise := livedefinition.WriteConduct("no such revision is archived")
	promise.Problems = "nothing is written without `--yes`: it would do more than an edit may that nobody approves, or that is unknown"
	promise.Stdout = "what it would do to the parents, what was done, and what follows"
	cli.Finish(c, promise)
	return c
}

// change pins a revision, or takes the pin away, unless that would do too much.
func (o *rollbackOptions) change(ctx context.Context, w cli.Process, t livedefinition.Target) (*livedefinition.Change, error) {
	id, decide := "", livedefinition.Decide(livedefinition.Unpin)
	if !o.unpin {
		var err error
		if id, decide, err = rollBack(ctx, t, o.revision); err != nil {
			return nil, err
		}
	}
	if change, err := decide(t.Definition); err != nil || change.Patch == nil {
		return change, err
	}
	approved, err := o.preview(ctx, w, t.Definition, id)
	if err != nil {
		return nil, err
	}
	if approved != "" {
		decide = livedefinition.Approving(decide, approved)
	}
	return t.Write(ctx, t.Definition, t.DryRun, decide)
}

// preview shows what a revision would do to the parents of a definition, or what the sources hold if id is empty. It returns the revision
// if that takes --yes, and an *cli.ExitError if it is not given.
func (o *rollbackOptions) preview(
	ctx context.Context, w cli.Process, d *livedefinition.Definition, id string,
) (approved string, err error) {
	r, verdict, err := o.report(ctx, w, d, id)
	if ctx.Err() != nil {
		return "", err
	}
	if errOut := diff.Text(w.Stdout, []*diff.Report{r}, w.IsColoured()); errOut != nil {
		return "", errOut
	}
	why := verdict.Held
	switch {
	case err != nil:
		why = "what it would do is unknown: " + err.Error()
	case why == "" && verdict.Unknown > 0:
		why = "what it would do is not known of all parents: " + verdict.Basis
	}
	if why == "" {
		return "", nil
	}
	if why = printable.Line(why); o.yes {
		_, err := fmt.Fprintf(w.Stdout, "%s (--yes)\n", why)
		return cmp.Or(id, verdict.Revision), err
	}
	return "", cli.ExitWith(cli.ExitProblems, fmt.Errorf("nothing is written: %s\nif that is meant: --yes", why))
}

// report returns what a revision would do to the parents of a definition, and what a host would make of an edit that does.
func (o *rollbackOptions) report(
	ctx context.Context, w cli.Process, d *livedefinition.Definition, id string,
) (r *diff.Report, verdict rollout.Verdict, err error) {
	r = diff.New(d.String())
	defer func() { r.Err = err }()
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return r, verdict, err
	}
	defer stop()
	config, err := livecluster.Connect(ctx, w, &o.Cluster, &o.host)
	if err != nil {
		return r, verdict, err
	}
	config.Engines = registry
	if config.Set, err = manifest.Load(ctx, manifest.Options{}); err != nil {
		return r, verdict, err
	}
	subject, err := config.Pinned(ctx, apply.KeyOf(d.Object), id)
	if err != nil {
		return r, verdict, err
	}
	verdict, err = subject.Preview(ctx, livecluster.Query{}, func(result *preview.Result, _ int) { r.Add(result) })
	return r, verdict, err
}

// rollBack returns the ID of an archived revision, or of the one before what serves, and how it is pinned.
func rollBack(ctx context.Context, t livedefinition.Target, revision string) (string, livedefinition.Decide, error) {
	history, err := t.History(ctx, t.Definition)
	if err != nil {
		return "", nil, err
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
		return "", nil, err
	}
	if _, err := history.Load(ctx, to); err != nil { // It is whole.
		return "", nil, err
	}
	return to.ID, livedefinition.Pin(t.Definition, to.ID, notes...), nil
}
