package explain

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/apply"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
)

// explainFormats are the formats of -o.
var explainFormats = []string{"text", "json"}

type explainOptions struct {
	livecluster.ParentFlags
	output string
	all    bool
}

// Command returns libretto explain.
func Command(w cli.Process) *cobra.Command {
	o := &explainOptions{ParentFlags: livecluster.NewParentFlags(), output: "text"}
	c := &cobra.Command{
		Use:   "explain KIND/NAME",
		Short: "Tell why a live parent is as it is, and what it waits for",
		Long: `Tell why a live parent is as it is, and what it waits for.

For each definition that looks after the parent, the reconciler of the host
makes one pass over it that writes nothing: on a cluster in memory, with what is
there. What it would delete or what fails comes first, then what it would
change and in which fields, children that it leaves and why, those that are as
wanted, what the hooks were given and answered, their logs, when it looks again,
and the latest events. A parent that is as wanted takes one line.
KIND is a kind, a resource or a short name, or resource.group, as in kubectl.
What is read is read with your own rights; no host is needed.`,
		Example: `  libretto explain webapp/shop
  libretto explain webapps.example.com/shop -n prod --all
  libretto explain webapp/shop -o json`,
		RunE: func(c *cobra.Command, args []string) error { return runExplain(c.Context(), w, o, args) },
	}
	o.AddTo(c)
	c.Flags().StringVarP(&o.output, "output", "o", o.output, "text or json")
	c.Flags().BoolVar(&o.all, "all", false,
		"print the requests and answers of hooks, with secrets hidden, and do so if the parent is as wanted")
	cli.LimitFlag(c, "output", explainFormats...)
	cli.Finish(c, cli.Conduct{
		Success:  "the parent is as wanted",
		Problems: "something would be written, waits or fails, or a definition is not well",
		Cannot:   "a flag is wrong, there is no such parent, no definition looks after it, or the cluster can't be read",
		Stdout:   "the story, as -o says", Stderr: "what could not be read; errors", Colour: "-o text",
	})
	return c
}

// runExplain tells the story, and returns an *cli.ExitError unless the parent is as wanted.
func runExplain(ctx context.Context, w cli.Process, o *explainOptions, args []string) error {
	ctx, cancel := cli.WithTimeout(ctx, o.Timeout)
	defer cancel()
	p, err := o.Find(ctx, w, args)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	defer stop()
	p.Engines = registry
	story, err := storyOf(ctx, p, o.all)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	if o.output == "json" {
		err = story.JSON(w.Stdout)
	} else {
		err = story.Text(w.Stdout, w.IsColoured(), o.all)
	}
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	if !story.AsWanted() {
		return cli.ExitWith(cli.ExitProblems, nil)
	}
	return nil
}

// storyOf makes a pass over a parent for each definition that looks after it.
func storyOf(ctx context.Context, p *livecluster.Parent, all bool) (*Story, error) {
	found, err := p.ForParent(ctx, p.Resource.GroupResource(), p.Object)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, p.NoDefinition()
	}
	story := &Story{Parent: apply.KeyOf(p.Object).String()}
	var secrets []string
	for _, f := range found {
		if f.Err != nil {
			story.Definitions = append(story.Definitions, New(ctx, f, nil, fmt.Errorf("it can't be run here: %w", f.Err), all))
			continue
		}
		reading, err := f.Subject.Read(ctx, p.Object, 1)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		secrets = append(secrets, f.Subject.Secrets(ctx, reading.Objects)...)
		story.Definitions = append(story.Definitions, New(ctx, f, reading, nil, all))
	}
	events, err := p.Reader.Events(ctx, p.Object)
	if err != nil {
		p.Reader.Warn("no events: " + err.Error())
	}
	story.Events = Events(events, secrets)
	return story, ctx.Err()
}
