package capture

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	apischema "k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livecluster"
	"github.com/libretto-k8s/libretto/runtime/discovery"
)

// Command returns libretto capture.
func Command(w cli.Process) *cobra.Command {
	o := livecluster.NewParentFlags()
	c := &cobra.Command{
		Use:   "capture KIND/NAME",
		Short: "Write a live parent as a test that passes now",
		Long: `Write a live parent as a test that passes now, and without a cluster ever after.

The file has the parent, its children and related objects, the definitions that
look after it, their scripts and the CustomResourceDefinitions. It is run before
it is printed. A parent that fails becomes a case that fails in the same way.
KIND is a kind, a resource or a short name, or resource.group, as in kubectl.
What is read is read with your own rights; no host is needed.

Values of Secrets and of what schemas call passwords are replaced, also where
other objects and scripts repeat them. The keys stay, so that hooks run. The
file says what was replaced, and what could not be read.`,
		Example: `  libretto capture webapp/shop > shop_test.yaml
  libretto capture webapps.example.com/shop -n prod > webapp/shop_test.yaml`,
		RunE: func(c *cobra.Command, args []string) error { return runCapture(c.Context(), w, &o, args) },
	}
	o.AddTo(c)
	cli.Finish(c, cli.Conduct{
		Success:  "the file is printed, and passes",
		Problems: "the file is printed, and is not all that the cluster has, or does not pass: it says why",
		Cannot:   "a flag is wrong, a script does not load, or the cluster can't be read",
		Stdout:   "the file", Stderr: "what could not be read; errors",
	})
	return c
}

// runCapture writes the file, and returns an *cli.ExitError unless it is the case that the cluster has.
func runCapture(ctx context.Context, w cli.Process, o *livecluster.ParentFlags, args []string) error {
	ctx, cancel := cli.WithTimeout(ctx, o.Timeout)
	defer cancel()
	p, err := o.Find(ctx, w, args)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	in := Input{Now: time.Now().Truncate(time.Second), Host: p.Host}
	p.Reader.Warn = func(text string) { in.Notes = append(in.Notes, "Not read: "+text) }
	registry, stop, err := cli.OfflineEngines(w)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	defer stop()
	p.Engines, in.Engines = registry, registry
	if in.Cases, err = casesOf(ctx, p); err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	if in.CRDs, err = customResourceDefinitions(ctx, p, in.Cases); err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	file, err := Write(ctx, in)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	if _, err := w.Stdout.Write(file.Text); err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	slices.Sort(in.Notes)
	for _, line := range slices.Concat(slices.Compact(in.Notes), file.Problems) {
		fmt.Fprintln(w.Stderr, "warning:", line)
	}
	if len(in.Notes)+len(file.Problems) > 0 {
		return cli.ExitWith(cli.ExitProblems, nil)
	}
	return nil
}

// casesOf reads a parent for each definition that looks after it.
func casesOf(ctx context.Context, p *livecluster.Parent) ([]Case, error) {
	found, err := p.ForParent(ctx, p.Resource.GroupResource(), p.Object)
	if err != nil {
		return nil, err
	}
	var all []Case
	for _, f := range found {
		if f.Err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), f.Err)
		}
		reading, err := f.Subject.Read(ctx, p.Object, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name(), err)
		}
		c := Case{Subject: f.Subject, Reading: reading, ConfigMaps: f.Subject.Sources(), Ran: f.Ran}
		if f.Ran.Unlike {
			p.Reader.Warn(fmt.Sprintf("the revision that serves. %s: %s", f.Name(), f.Ran.Why))
		}
		if err := reading.Result.Err; isForbidden(err) {
			p.Reader.Warn(err.Error())
		}
		all = append(all, c)
	}
	if len(all) == 0 {
		return nil, p.NoDefinition()
	}
	return all, nil
}

func isForbidden(err error) bool {
	var forbidden *livecluster.ForbiddenError
	return errors.As(err, &forbidden)
}

// customResourceDefinitions returns those of all kinds of the cases. What can't be read is replaced by one without a schema.
func customResourceDefinitions(ctx context.Context, p *livecluster.Parent, cases []Case) ([]*unstructured.Unstructured, error) {
	resources := map[string]discovery.Resource{}
	for _, c := range cases {
		for _, resource := range c.Subject.Plan.Resources() {
			resources[resource.GroupResource().String()] = resource
		}
		for _, object := range c.Reading.Objects {
			for _, r := range c.Subject.Resources {
				if r.Kind == object.GroupVersionKind() {
					resources[r.GroupResource().String()] = r.Resource
				}
			}
		}
	}
	var all []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(resources)) {
		resource := resources[name]
		if !strings.Contains(resource.Group, ".") || IsBuiltIn(resource) {
			continue
		}
		crd, err := p.Reader.CustomResourceDefinition(ctx, apischema.ParseGroupResource(name))
		switch {
		case isForbidden(err) || crd == nil && err == nil:
			all = append(all, Minimal(resource.Kind, resource.GroupVersionResource.Resource, resource.Namespaced, resource.HasStatus))
		case err != nil:
			return nil, err
		default:
			all = append(all, Definition(crd))
		}
	}
	return all, nil
}
