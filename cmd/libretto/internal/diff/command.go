package diff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview"
	"github.com/libretto-k8s/libretto/runtime/values/printable"
)

// diffFormats are the formats of -o.
var diffFormats = []string{"text", "json", "markdown"}

type diffOptions struct {
	manifests    cli.ManifestFlags
	cluster      cli.ClusterFlags
	selector     string
	maxParents   int
	allowDeletes bool
	output       string
	timeout      time.Duration
	host         cli.HostFlags
}

// Command returns libretto diff.
func Command(w cli.Process) *cobra.Command {
	o := &diffOptions{cluster: cli.DefaultClusterFlags(), output: "text", timeout: 10 * time.Minute, host: cli.NewHostFlags()}
	c := &cobra.Command{
		Use:   "diff -f FILE|DIRECTORY|-",
		Short: "Show what new scripts or a new definition would do to the parents of a cluster",
		Long: `Show what new scripts or a new definition would do to the parents of a cluster.

The definitions among the files, and those of the cluster that take scripts from
the ConfigMaps among the files, are run over their live parents as a host would,
until nothing changes any more. Nothing is written, and no host is needed: the
reconciler of the host writes to a cluster in memory, laid over what is there.
What the definition creates or updates becomes ready there, so that rollouts go
on to their end. What is read is read with your own rights.

What would be deleted comes first, also by the garbage collector if a finalize
hook lets go of a parent. Last come the counts, and the sentence that a host would
say of the edit. The exit code is 0 if nothing would be deleted or recreated, or
that is allowed; 1 if something would, or if a parent fails; 2 if the command could
not be run, or not for all definitions: then it tells of the others, and why not
of these.`,
		Example: `  libretto diff -f webapp/
  libretto diff -f webapp/ -n shop -l tier=canary
  kustomize build webapp | libretto diff -f - -o markdown --allow-deletes
  libretto diff --scripts default/webapp-hooks=webapp/hooks`,
		RunE: func(c *cobra.Command, args []string) error { return runDiff(c.Context(), w, o, args) },
	}
	o.addTo(c.Flags())
	o.host.AddTo(c)
	cli.LimitFlag(c, "output", diffFormats...)
	cli.Finish(c, cli.Conduct{
		Success:  "nothing would be deleted or recreated, or `--allow-deletes` is given, and no parent fails",
		Problems: "something would be deleted or recreated, or a parent fails",
		Cannot:   "a file or a flag is wrong or the cluster can't be read; or a definition can't be run, such as for a script that does not load: the others are compared nevertheless",
		Stdin:    "manifests, with -f -", Stdout: "the differences, as -o says", Stderr: "how far it is; warnings; errors", Colour: "-o text",
	})
	return c
}

func (o *diffOptions) addTo(f *pflag.FlagSet) {
	o.manifests.AddTo(f)
	namespace := f.Lookup("namespace")
	o.manifests.Namespace, namespace.DefValue = "", ""
	namespace.Usage = "only the parents of this namespace, which is also that of objects without one (default all parents, and default)"
	o.cluster.AddTo(f)
	o.cluster.AddLimits(f)
	f.StringVarP(&o.selector, "selector", "l", "", "only the parents whose labels match")
	f.IntVar(&o.maxParents, "max-parents", 0, "only so many parents of each definition, the first by namespace and name; 0 means all")
	f.BoolVar(&o.allowDeletes, "allow-deletes", false, "let the exit code be 0 if objects would be deleted or recreated")
	f.StringVarP(&o.output, "output", "o", o.output, "text, json, or markdown for a pull request")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long it may take in all, by the clock")
}

// query returns which parents are asked for.
func (o *diffOptions) query() (livecluster.Query, error) {
	q := livecluster.Query{Namespace: o.manifests.Namespace, MaxParents: o.maxParents}
	if o.maxParents < 0 {
		return q, fmt.Errorf("--max-parents %d: must not be negative", o.maxParents)
	}
	if o.selector == "" {
		return q, nil
	}
	var err error
	if q.Selector, err = labels.Parse(o.selector); err != nil {
		return q, fmt.Errorf("--selector: %w", err)
	}
	return q, nil
}

// runDiff compares, and returns an *cli.ExitError unless all is well.
func runDiff(ctx context.Context, w cli.Process, o *diffOptions, args []string) error {
	query, err := o.query()
	if err != nil {
		return cli.Cannot(err)
	}
	files, err := o.manifests.Options(args, w.Stdin)
	if err != nil && !(errors.Is(err, cli.ErrNoFiles) && len(files.Scripts) > 0) {
		return cli.Cannot(err)
	}
	ctx, cancel := cli.WithTimeout(ctx, o.timeout)
	defer cancel()
	set, err := manifest.LoadValid(ctx, files)
	if err != nil {
		return cli.Cannot(err)
	}
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(err)
	}
	defer stop()
	config, err := livecluster.Connect(ctx, w, &o.cluster, &o.host)
	if err != nil {
		return cli.Cannot(err)
	}
	config.Set, config.Engines = set, registry
	reports, err := o.reports(ctx, w, config, query)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	if err := o.write(w, reports); err != nil {
		return cli.Cannot(err)
	}
	return o.verdict(reports)
}

// verdict returns an *cli.ExitError unless all is well. A definition that could not be compared outweighs the results of others.
func (o *diffOptions) verdict(reports []*Report) error {
	var failed []string
	for _, r := range reports {
		if r.Err != nil {
			failed = append(failed, "  "+r.Definition+": "+printable.Line(r.Err.Error()))
		}
	}
	if len(failed) > 0 {
		return cli.Cannot(fmt.Errorf("%d of %d definitions could not be compared:\n%s", len(failed), len(reports), strings.Join(failed, "\n")))
	}
	for _, r := range reports {
		if r.Fails() || r.Destroys() && !o.allowDeletes {
			return cli.ExitWith(cli.ExitProblems, nil)
		}
	}
	return nil
}

// reports compares for each definition. An error means that none can be compared.
func (o *diffOptions) reports(ctx context.Context, w cli.Process, config *livecluster.Config, query livecluster.Query) ([]*Report, error) {
	subjects, err := config.Subjects(ctx)
	if err != nil {
		return nil, err
	}
	var all []*Report
	for _, found := range subjects {
		r, reportedAt, subject := New(found.Name()), time.Now(), found.Subject
		if all = append(all, r); found.Err != nil {
			r.Err = found.Err
			continue
		}
		edit, err := subject.Preview(ctx, query, func(result *preview.Result, total int) {
			r.Add(result)
			if time.Since(reportedAt) > progressInterval {
				reportedAt = time.Now()
				fmt.Fprintf(w.Stderr, "%s: %d parents of about %d\n", subject.Name(), r.Parents, max(total, r.Parents))
			}
		})
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s: %w", subject.Name(), cmp.Or(err, ctx.Err()))
		}
		r.Err, r.Edit = err, edit
	}
	return all, nil
}

// progressInterval is how often the progress of the command is printed.
const progressInterval = 2 * time.Second

func (o *diffOptions) write(w cli.Process, reports []*Report) error {
	writers := map[string]func(io.Writer, []*Report) error{
		"json": JSON, "markdown": Markdown,
		"text": func(out io.Writer, all []*Report) error { return Text(out, all, w.IsColoured()) },
	}
	return writers[o.output](w.Stdout, reports)
}
