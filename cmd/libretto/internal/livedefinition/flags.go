package livedefinition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

// ArgumentHelp is how help names the argument.
const ArgumentHelp = `NAME is that of a definition of any kind, or KIND/NAME, as in cc/hello, if
several have it. One with a namespace is ncc/hello with -n NAMESPACE.`

// Flags name one definition of a cluster.
type Flags struct {
	Cluster       cli.ClusterFlags
	Timeout       time.Duration
	HostNamespace string
	// Namespace is that of a definition that has one. Empty means that of the kubeconfig's context.
	Namespace string
}

// NewFlags returns the flags with their defaults.
func NewFlags() Flags {
	return Flags{Cluster: cli.DefaultClusterFlags(), Timeout: time.Minute, HostNamespace: "libretto"}
}

// AddTo adds the flags of commands about one definition.
func (o *Flags) AddTo(f *pflag.FlagSet) {
	o.Cluster.AddTo(f)
	f.StringVarP(&o.Namespace, "namespace", "n", "", "the namespace of a definition that has one (default that of the kubeconfig's context)")
	f.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long it may take in all, by the clock; 0 means no limit")
}

// AddHostNamespace adds the flag of commands that read the archive.
func (o *Flags) AddHostNamespace(f *pflag.FlagSet) {
	f.StringVar(&o.HostNamespace, "host-namespace", o.HostNamespace,
		"the namespace of the host, where scripts are archived that are not from ConfigMaps of one namespace")
}

// client returns a client of the cluster.
func (o *Flags) client(ctx context.Context, w cli.Process) (*Client, error) {
	config, err := o.Cluster.BoundConfig(ctx, w)
	if err != nil {
		return nil, err
	}
	c := &Client{HostNamespace: o.HostNamespace, Namespace: cmp.Or(o.Namespace, o.Cluster.Namespace(w)), Program: ProgramOf(w)}
	c.Warn = func(text string) { fmt.Fprintln(w.Stderr, "warning:", text) }
	var errs [3]error
	c.Dynamic, errs[0] = dynamic.NewForConfig(config)
	c.Kubernetes, errs[1] = cli.NewTypedClients(config)
	c.Metadata, errs[2] = metadata.NewForConfig(config)
	return c, errors.Join(errs[:]...)
}

// ProgramOf returns how users run the program.
func ProgramOf(w cli.Process) string {
	if w.IsPlugin {
		return "kubectl libretto"
	}
	return "libretto"
}

// Find reads the definition that an argument names.
func (o *Flags) Find(
	ctx context.Context, w cli.Process, argument string,
) (*Client, *Definition, error) {
	client, err := o.client(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	d, err := client.Find(ctx, argument)
	return client, d, err
}

// completionTimeout bounds what a shell waits for.
const completionTimeout = 3 * time.Second

// Complete lets shells complete the name of a definition.
func (o *Flags) Complete(w cli.Process) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, begun string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
		defer cancel()
		client, err := o.client(ctx, w)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completions(client.Names(ctx), begun), cobra.ShellCompDirectiveNoFileComp
	}
}

// completions returns those of all arguments KIND/NAME, and of the names that only one has, that begin as is written.
func completions(all []string, begun string) []string {
	count := map[string]int{}
	for _, argument := range all {
		_, name, _ := strings.Cut(argument, "/")
		count[name]++
	}
	var found []string
	for _, argument := range all {
		_, name, _ := strings.Cut(argument, "/")
		if count[name] == 1 && strings.HasPrefix(name, begun) {
			found = append(found, name)
		} else if strings.HasPrefix(argument, begun) {
			found = append(found, argument)
		}
	}
	slices.Sort(found)
	return found
}

// WriteFlags are those of commands that write to a definition.
type WriteFlags struct {
	Flags
	dryRun string
}

// NewWriteFlags returns the flags with their defaults.
func NewWriteFlags() *WriteFlags {
	return &WriteFlags{Flags: NewFlags(), dryRun: string(DryRunNone)}
}

// AddTo adds the flags to a command that writes a definition.
func (o *WriteFlags) AddTo(c *cobra.Command) {
	o.Flags.AddTo(c.Flags())
	c.Flags().StringVar(&o.dryRun, "dry-run", o.dryRun,
		"none; client, which sends nothing; or server, which checks the write and does not store it")
	cli.LimitFlag(c, "dry-run", DryRuns...)
}

// Target is the definition that a command writes to.
type Target struct {
	*Client
	Definition *Definition
	DryRun     DryRun
}

// Write changes the definition that an argument names.
func (o *WriteFlags) Write(
	ctx context.Context, w cli.Process, argument string, change func(context.Context, Target) (*Change, error),
) error {
	ctx, cancel := cli.WithTimeout(ctx, o.Timeout)
	defer cancel()
	client, d, err := o.Find(ctx, w, argument)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	dryRun := DryRun(o.dryRun)
	done, err := change(ctx, Target{client, d, dryRun})
	if refused := (*cli.ExitError)(nil); errors.As(err, &refused) {
		return err
	}
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	return cli.Cannot(done.Write(w.Stdout, dryRun))
}

// WriteConduct is the conduct of the commands that write.
func WriteConduct(problem string) cli.Conduct {
	return cli.Conduct{
		Success: "it is written, or was so already",
		Cannot:  "a flag is wrong, there is no such definition, " + problem + ", or the cluster can't be read or written",
		Stdout:  "what was done, and what follows", Stderr: "warnings; errors",
	}
}
