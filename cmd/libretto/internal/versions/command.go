// Package versions implements libretto version: it prints what the program is, and what the hosts of the cluster are.
package versions

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
)

type options struct {
	cluster   cli.ClusterFlags
	timeout   time.Duration
	client    bool
	namespace string
	output    string
}

// Command returns libretto version.
func Command(w cli.Process) *cobra.Command {
	o := &options{cluster: cli.DefaultClusterFlags(), timeout: 3 * time.Second, namespace: "libretto", output: cli.TextFormats[0]}
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, and that of the hosts in the cluster",
		Long: `Print the version and the commit of this program, and if there is a cluster, those
of the hosts in it that hold a lease, as they say themselves in its labels. If a
host is of another version, that is said: commands that read a cluster, such as
diff, work as this program would, and not as that host does. Without a cluster,
and with --client, it is this program alone.`,
		Example: `  libretto version
  libretto version --client
  libretto version -o json | jq -r '.hosts[].version'`,
		Args:              cobra.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(c *cobra.Command, _ []string) error { return run(c.Context(), w, o) },
	}
	f := c.Flags()
	o.cluster.AddTo(f)
	f.BoolVar(&o.client, "client", o.client, "print this program alone, and ask no cluster")
	f.StringVar(&o.namespace, "host-namespace", o.namespace, "the namespace of the host, if you may not list the leases of all")
	f.DurationVar(&o.timeout, "timeout", o.timeout, "how long to wait for the cluster; 0 means no limit")
	f.StringVarP(&o.output, "output", "o", o.output, "text or json")
	cli.LimitFlag(c, "output", cli.TextFormats...)
	cli.Finish(c, cli.Conduct{
		Success: "always, also if there is no cluster or it can't be read", Cannot: "a flag is wrong", Stdout: "the versions",
		Stderr: "that versions differ; why no host is known",
	})
	return c
}

// report is what is printed as JSON.
type report struct {
	cli.Build
	// Hosts are those that are known. None are if no cluster could be asked.
	Hosts []Host `json:"hosts,omitempty"`
}

func run(ctx context.Context, w cli.Process, o *options) error {
	own := report{Build: w.Build()}
	var unknown error
	if !o.client {
		own.Hosts, unknown = o.hosts(ctx, w)
	}
	var err error
	if o.output == "json" {
		err = cli.WriteJSON(w.Stdout, own)
	} else {
		err = own.write(w)
	}
	switch {
	case errors.Is(unknown, cli.ErrNoCluster):
	case unknown != nil:
		fmt.Fprintln(w.Stderr, "libretto: the hosts are not known:", unknown)
	case !o.client && len(own.Hosts) == 0:
		fmt.Fprintln(w.Stderr, "libretto: no host in the cluster holds a lease: without --leader-elect none says its version")
	}
	for _, h := range own.Hosts {
		if text := h.advice(own.Build); text != "" {
			fmt.Fprintln(w.Stderr, "libretto:", text)
		}
	}
	return err
}

// hosts returns the hosts of the cluster.
func (o *options) hosts(ctx context.Context, w cli.Process) ([]Host, error) {
	ctx, cancel := cli.WithTimeout(ctx, o.timeout)
	defer cancel()
	config, err := o.cluster.BoundConfig(ctx, w)
	if err != nil {
		return nil, err
	}
	hosts, err := readHosts(ctx, config, o.namespace)
	if err != nil {
		return nil, cli.CauseOf(ctx, err)
	}
	for i := range hosts {
		hosts[i].Skew = skewOf(w.Build(), hosts[i])
	}
	return hosts, nil
}

// write prints the versions for people.
func (r report) write(w cli.Process) error {
	if _, err := fmt.Fprintln(w.Stdout, r.Build); err != nil {
		return err
	}
	for _, h := range r.Hosts {
		if _, err := fmt.Fprintf(w.Stdout, "host %s in namespace %s, lease %s\n", h.release(), h.Namespace, h.Lease); err != nil {
			return err
		}
	}
	return nil
}
