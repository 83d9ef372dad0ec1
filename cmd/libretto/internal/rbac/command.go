// Package rbac implements libretto rbac: it prints the rights that definitions need.
package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/test/explore"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/rights"
	"github.com/libretto-k8s/libretto/controllers/manifest"
	"github.com/libretto-k8s/libretto/controllers/manifest/document"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

var formats = []string{"yaml", "json"}

type options struct {
	manifests cli.ManifestFlags
	host      cli.HostFlags
	// account is the name of the host's, in its namespace.
	account    string
	namespaces []string
	ofHost     bool
	// hosted are the namespaces of a host with --namespaces.
	hosted []string
	// annotated is set for a host with --require-account-annotation.
	annotated bool
	// applies is set for a host with -f, which applies the definitions itself.
	applies   bool
	fromTests bool
	explore   bool
	paths     int
	timeout   time.Duration
	output    string
}

// Command returns libretto rbac.
func Command(w cli.Process) *cobra.Command {
	o := &options{host: cli.NewHostFlags(), account: "libretto", paths: explore.DefaultPaths, timeout: 30 * time.Second, output: "yaml"}
	c := &cobra.Command{
		Use:   "rbac -f FILE|DIRECTORY|-",
		Short: "Print the least rights that definitions need",
		Long: `Print the least rights that definitions need.

For each definition among the files it prints what kubectl apply takes: a ClusterRole
with what is needed where parents and children are, Roles for the namespaces that
the definition names, and bindings to its spec.serviceAccountRef, or to the host's
account if it names none. The rights follow from the resources, the update methods,
the apply strategy and the hooks of the spec.

With --host it prints what the host's account needs to run them: to watch what they
name, and to act as their ServiceAccounts. Without files it prints what the host needs
whatever it runs, as manifests/base has it.

What the hooks decide (labels and statuses that decorators set, related objects) is
included as far as the spec allows it. With --from-tests the tests beside the
definitions are run, as libretto test does: what they never use of that is left
out, and what they use besides is added.`,
		Example: `  libretto rbac -f controller/ | kubectl apply -f -
  libretto rbac -f controller/ --from-tests --parents-in team-a,team-b
  libretto rbac -f controllers/ --host | kubectl apply -f -`,
		RunE: func(c *cobra.Command, args []string) error { return run(c.Context(), w, o, args) },
	}
	f := c.Flags()
	o.manifests.AddTo(f)
	o.host.AddTo(c)
	f.StringVar(&o.account, "host-service-account", o.account, "name of the host's ServiceAccount in --host-namespace")
	f.StringSliceVar(&o.namespaces, "parents-in", nil,
		"the namespaces that parents are in: what is needed there is a Role in each, in place of a ClusterRole")
	f.BoolVar(&o.ofHost, "host", o.ofHost, "print what the host needs to run the definitions, in place of what these need; without -f, what it needs itself")
	f.BoolVar(&o.annotated, "require-account-annotation", o.annotated,
		"with --host: the host is started with this flag, and reads the ServiceAccounts that the definitions name")
	f.BoolVar(&o.applies, "applies", o.applies,
		"with --host and -f: the host is started with -f for these files, and applies the definitions and their ConfigMaps")
	f.StringSliceVar(&o.hosted, "namespaces", nil,
		"with --host: the host is started with this flag for these `namespaces`, and needs Roles alone")
	f.BoolVar(&o.fromTests, "from-tests", o.fromTests, "run the tests beside the definitions, and reduce the rights to what they use")
	f.BoolVar(&o.explore, "explore", o.explore, "with --from-tests: let things go wrong in the tests, as libretto test --explore does")
	f.IntVar(&o.paths, "explore-paths", o.paths, "how many paths --explore makes for each case")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long a case of the tests may take; with --explore ten times as long")
	f.StringVarP(&o.output, "output", "o", o.output, "format: "+strings.Join(formats, ", ")+" (a List)")
	cli.LimitFlag(c, "output", formats...)
	cli.Finish(c, cli.Conduct{
		Success: "all is printed", Problems: "a test fails with `--from-tests`",
		Cannot: "a bad flag, an unreadable file, a definition that is not accepted, no definition",
		Stdin:  "with `-f -`", Stdout: "Roles, ClusterRoles and their bindings", Stderr: "warnings; what tests never use",
	})
	return c
}

// run prints rights, and returns an *cli.ExitError unless all is well.
func run(ctx context.Context, w cli.Process, o *options, args []string) error {
	if err := o.check(); err != nil {
		return cli.Cannot(err)
	}
	p := &printer{Process: w, options: o}
	files, err := o.manifests.Options(args, w.Stdin)
	if o.ofHost && errors.Is(err, cli.ErrNoFiles) {
		return cli.Cannot(p.print())
	}
	if err != nil {
		return cli.Cannot(err)
	}
	set, err := manifest.LoadValid(ctx, files)
	if err == nil && len(set.Definitions) == 0 {
		err = errors.New(set.NoDefinition())
	}
	if err != nil {
		return cli.Cannot(err)
	}
	p.set = set
	for _, object := range set.Definitions {
		definition, err := p.definition(object)
		if err != nil {
			return cli.Cannot(err)
		}
		p.definitions = append(p.definitions, definition)
	}
	if o.fromTests {
		if err := p.narrow(ctx, files.Filenames); err != nil {
			return err
		}
	}
	return cli.Cannot(p.print())
}

// check returns an error for flags that do not go together.
func (o *options) check() error {
	switch {
	case o.explore && !o.fromTests:
		return errors.New("--explore: is for --from-tests")
	case o.annotated && !o.ofHost:
		return errors.New("--require-account-annotation: is for --host")
	case o.applies && !o.ofHost:
		return errors.New("--applies: is for --host")
	case len(o.hosted) > 0 && !o.ofHost:
		return errors.New("--namespaces: is for --host")
	case o.paths < 1:
		return fmt.Errorf("--explore-paths %d: must be at least 1", o.paths)
	case slices.Contains(o.namespaces, ""):
		return errors.New("--parents-in: a namespace has no name")
	}
	return nil
}

// definition plans a definition, and returns it with what it needs.
func (p *printer) definition(object *document.Object) (rights.Definition, error) {
	host, err := p.host.Host()
	if err != nil {
		return rights.Definition{}, err
	}
	built, assumed := p.set.Assume(object, p.set.Resources())
	for _, resource := range assumed {
		p.warn(fmt.Sprintf("%s: whether %s are in namespaces and have a status is not known, and taken for granted: give the "+
			"CustomResourceDefinition with -f", object.Location, resource.GroupResource()))
	}
	base, err := stage.NewBase(object.Unstructured, slices.Concat(p.set.Resources(), built, assumed), host, time.Now())
	if err != nil {
		return rights.Definition{}, err
	}
	if base.Refusal != nil {
		return rights.Definition{}, fmt.Errorf("%s: %w", object.Location, base.Refusal)
	}
	rollout, err := plan.ScriptRollout(object.Unstructured)
	return rights.Definition{Plan: base.Plan, Needs: rights.Of(base.Plan, rollout, p.host.Namespace)}, err
}

// startedAs returns how the host is started.
func (o *options) startedAs() rights.Host {
	return rights.Host{Namespace: o.host.Namespace, Namespaces: o.hosted, ReadsAccounts: o.annotated}
}

// hostAccount returns the host's account.
func (o *options) hostAccount() identity.Account {
	return identity.Account{Namespace: o.host.Namespace, Name: o.account}
}

func (p *printer) warn(text string) { fmt.Fprintln(p.Stderr, "warning:", text) }
