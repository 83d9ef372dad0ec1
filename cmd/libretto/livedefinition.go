package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/livedefinition"
)

// definitionArgument is how help names the argument.
const definitionArgument = `NAME is that of a definition of any kind, or KIND/NAME, as in cc/hello, if
several have it.`

// definitionOptions name one definition of a cluster.
type definitionOptions struct {
	cluster       cli.ClusterFlags
	timeout       time.Duration
	hostNamespace string
}

func newDefinitionOptions() definitionOptions {
	return definitionOptions{cluster: cli.DefaultClusterFlags(), timeout: time.Minute, hostNamespace: "libretto"}
}

func (o *definitionOptions) addTo(f *pflag.FlagSet) {
	o.cluster.AddTo(f)
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long it may take in all, by the clock; 0 means no limit")
}

// addHostNamespace adds the flag of commands that read the archive.
func (o *definitionOptions) addHostNamespace(f *pflag.FlagSet) {
	f.StringVar(&o.hostNamespace, "host-namespace", o.hostNamespace,
		"the namespace of the host, where scripts are archived that are not from ConfigMaps of one namespace")
}

// client returns a client of the cluster.
func (o *definitionOptions) client(ctx context.Context, w cli.Process) (*livedefinition.Client, error) {
	config, err := o.cluster.BoundConfig(ctx, w)
	if err != nil {
		return nil, err
	}
	c := &livedefinition.Client{HostNamespace: o.hostNamespace, Program: programOf(w)}
	c.Warn = func(text string) { fmt.Fprintln(w.Stderr, "warning:", text) }
	var errs [3]error
	c.Dynamic, errs[0] = dynamic.NewForConfig(config)
	c.Kubernetes, errs[1] = kubernetes.NewForConfig(config)
	c.Metadata, errs[2] = metadata.NewForConfig(config)
	return c, errors.Join(errs[:]...)
}

// programOf returns how users run the program.
func programOf(w cli.Process) string {
	if w.IsPlugin {
		return "kubectl libretto"
	}
	return "libretto"
}

// find reads the definition that an argument names.
func (o *definitionOptions) find(
	ctx context.Context, w cli.Process, argument string,
) (*livedefinition.Client, *livedefinition.Definition, error) {
	client, err := o.client(ctx, w)
	if err != nil {
		return nil, nil, err
	}
	d, err := client.Find(ctx, argument)
	return client, d, err
}

// completionTimeout bounds what a shell waits for.
const completionTimeout = 3 * time.Second

// complete lets shells complete the name of a definition.
func (o *definitionOptions) complete(w cli.Process) cobra.CompletionFunc {
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

// writeOptions are those of commands that write to a definition.
type writeOptions struct {
	definitionOptions
	dryRun string
}

func newWriteOptions() *writeOptions {
	return &writeOptions{definitionOptions: newDefinitionOptions(), dryRun: string(livedefinition.DryRunNone)}
}

func (o *writeOptions) addTo(c *cobra.Command) {
	o.definitionOptions.addTo(c.Flags())
	c.Flags().StringVar(&o.dryRun, "dry-run", o.dryRun,
		"none; client, which sends nothing; or server, which checks the write and does not store it")
	cli.CompleteFlag(c, "dry-run", livedefinition.DryRuns...)
}

// target is the definition that a command writes to.
type target struct {
	*livedefinition.Client
	definition *livedefinition.Definition
	dryRun     livedefinition.DryRun
}

// write changes the definition that an argument names.
func (o *writeOptions) write(
	ctx context.Context, w cli.Process, argument string, change func(context.Context, target) (*livedefinition.Change, error),
) error {
	if err := cli.OneOf("--dry-run", o.dryRun, livedefinition.DryRuns); err != nil {
		return cli.Cannot(err)
	}
	ctx, cancel := cli.WithTimeout(ctx, o.timeout)
	defer cancel()
	client, d, err := o.find(ctx, w, argument)
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	dryRun := livedefinition.DryRun(o.dryRun)
	done, err := change(ctx, target{client, d, dryRun})
	if refused := (*cli.ExitError)(nil); errors.As(err, &refused) {
		return err
	}
	if err != nil {
		return cli.Cannot(cli.CauseOf(ctx, err))
	}
	return cli.Cannot(done.Write(w.Stdout, dryRun))
}

// writes is the conduct of the commands that write.
func writes(problem string) cli.Conduct {
	return cli.Conduct{
		Success: "it is written, or was so already",
		Cannot:  "a flag is wrong, there is no such definition, " + problem + ", or the cluster can't be read or written",
		Stdout:  "what was done, and what follows", Stderr: "warnings; errors",
	}
}
