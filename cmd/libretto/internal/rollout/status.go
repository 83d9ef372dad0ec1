package rollout

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/engines"
)

type statusOptions struct {
	livedefinition.Flags
	watch            bool
	output, revision string
	manifests        cli.ManifestFlags
}

// The exit codes of rollout status, beside those of all commands.
const (
	exitHeld = iota + 3
	exitTakenBack
	exitTimeout
)

func statusCommand(w cli.Process) *cobra.Command {
	o := &statusOptions{Flags: livedefinition.NewFlags(), output: "text"}
	o.Timeout = 0
	c := &cobra.Command{
		Use:   "status NAME",
		Short: "Tell how far an edit of scripts has come",
		Long: `Tell how far an edit of the scripts of a definition has come: its phase, the
step and how many parents have it, the revisions, what is held or was rolled
back and why, and the way out. The edit is --revision, or what the files of -f
make of the definition, as libretto revision -f prints it, or else what is pinned
or what the sources of the scripts hold in the cluster.

Complete means that the host has read that text, that it serves all parents, that
all of them have been synced by it and by the present spec, and that none fails.
Further phases are those of status.scriptRollout, Held without steps too; Failing
if parents fail with it; NotReady while the scripts do not load or fail their
tests, or the spec is not accepted; Pinned if another revision is pinned;
RevisionUnavailable while a revision that is needed can't be had; Unknown if the
revision serves, and what the sources hold now can't be read.

A gate of CI applies the files, then runs it with --watch, -f and --timeout.
` + livedefinition.ArgumentHelp,
		Example: `  libretto rollout status hello
  libretto rollout status cc/hello -f controller/ --watch --timeout 30m
  libretto rollout status hello --revision 1060ddcff4550b3b --watch -o json`,
		Args:              cli.Exactly(1, 1, "one definition"),
		ValidArgsFunction: o.Complete(w),
		RunE:              func(c *cobra.Command, args []string) error { return runStatus(c.Context(), w, o, args[0]) },
	}
	o.AddTo(c.Flags())
	c.Flags().Lookup("timeout").Usage = "how long to wait with --watch; 0 means no limit"
	c.Flags().BoolVarP(&o.watch, "watch", "w", false, "tell each change, until the edit is complete, or goes no further")
	c.Flags().StringVar(&o.revision, "revision", "", "the ID of the edit, in full or the first 16 digits")
	o.manifests.AddTo(c.Flags())
	c.MarkFlagsMutuallyExclusive("revision", "filename")
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "text or json; with --watch one document for each change")
	cli.LimitFlag(c, "output", cli.TextFormats...)
	cli.Finish(c, cli.Conduct{
		Success:  "the edit is complete; without `--watch` also if it is on its way or paused",
		Problems: "parents fail with it, the scripts do not load, the spec is not accepted, or a revision that is needed is not archived",
		Cannot:   "a flag or a file is wrong, there is no such definition, the cluster can't be read, or it is unclear which edit is meant",
		Others:   "3: it is held, or another revision is pinned; 4: it was rolled back; 5: `--timeout` is over",
		Stdin:    "with `-f -`", Stdout: "the status, as -o says", Stderr: "warnings; errors",
	})
	return c
}

// runStatus prints the status, and returns an *cli.ExitError unless the edit is well.
func runStatus(ctx context.Context, w cli.Process, o *statusOptions, argument string) error {
	if o.revision != "" {
		var err error
		if o.revision, err = livedefinition.ParseID(o.revision); err != nil {
			return cli.Cannot(err)
		}
	}
	o.manifests.Namespace = o.Namespace
	ctx, cancel := cli.WithTimeout(ctx, o.Timeout)
	defer cancel()
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	client, d, err := o.Find(ctx, w, argument)
	if err != nil {
		return o.cannot(ctx, err)
	}
	wanted, err := o.wanted(ctx, w, registry, d)
	if err != nil {
		return o.cannot(ctx, err)
	}
	var last *livedefinition.RolloutStatus
	shown := ""
	tell := func(d *livedefinition.Definition) (more bool, err error) {
		last = d.RolloutStatus(wanted(d))
		var text strings.Builder
		if o.output == "json" {
			err = cli.WriteJSON(&text, last)
		} else {
			err = last.Write(&text)
		}
		if err == nil && text.String() != shown {
			shown = text.String()
			_, err = io.WriteString(w.Stdout, shown)
		}
		return !last.Ended(), err
	}
	if o.watch {
		err = client.Follow(ctx, d, tell)
	} else {
		_, err = tell(d)
	}
	if err != nil {
		return o.cannot(ctx, err)
	}
	if code := exitCodes[last.Phase]; code != 0 {
		return cli.ExitWith(code, nil)
	}
	return nil
}

// cannot returns the error with its exit code: that of --timeout is one of its own.
func (o *statusOptions) cannot(ctx context.Context, err error) error {
	var late *cli.TimeoutError
	if err = cli.CauseOf(ctx, err); o.watch && errors.As(err, &late) {
		return cli.ExitWith(exitTimeout, err)
	}
	return cli.Cannot(err)
}

// exitCodes are those of the phases in which something is wrong.
var exitCodes = map[string]int{
	livedefinition.PhaseFailing: cli.ExitProblems, livedefinition.PhaseNotReady: cli.ExitProblems,
	livedefinition.PhaseRevisionUnavailable: cli.ExitProblems,
	livedefinition.PhaseUnknown:             cli.ExitCannot, livedefinition.PhasePinned: exitHeld,
	string(v1alpha1.ScriptsHeld): exitHeld, string(v1alpha1.ScriptsRolledBack): exitTakenBack,
}

// wanted returns the edit that the status of a definition is about.
func (o *statusOptions) wanted(
	ctx context.Context, w cli.Process, registry *engines.Registry, d *livedefinition.Definition,
) (func(*livedefinition.Definition) livedefinition.Wanted, error) {
	files, err := o.manifests.Options(nil, w.Stdin)
	if err != nil && !errors.Is(err, cli.ErrNoFiles) {
		return nil, err
	}
	given := err == nil || len(files.Scripts) > 0
	host := cli.NewHostFlags()
	config, err := livecluster.Connect(ctx, w, &o.Cluster, &host)
	if err != nil {
		return nil, err
	}
	config.Engines = registry
	identify := func(d *livedefinition.Definition) (string, error) {
		if config.Set, err = manifest.LoadValid(ctx, files); err != nil {
			return "", err
		}
		id, named, err := config.Identify(ctx, d.Object)
		if err == nil && given && !named {
			err = fmt.Errorf("the files have neither %s nor a ConfigMap of its scripts", d)
		}
		return string(id), err
	}
	fixed := livedefinition.Wanted{Revision: o.revision}
	if given && o.revision == "" {
		if fixed.Revision, err = identify(d); err != nil {
			return nil, err
		}
	}
	return func(d *livedefinition.Definition) livedefinition.Wanted {
		if given || o.revision != "" {
			return fixed
		}
		if pin := d.Spec.ScriptRollout.Revision; pin != "" { // It serves whatever the sources hold.
			return livedefinition.Wanted{Revision: pin}
		}
		id, err := identify(d)
		return livedefinition.Wanted{Revision: id, Err: err}
	}, nil
}
