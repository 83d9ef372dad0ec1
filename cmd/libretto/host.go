package main

import (
	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
)

// hostOptions are what commands have to know of the host that they stand in for.
type hostOptions struct{ hostNamespace, applyStrategy string }

func newHostOptions() hostOptions {
	return hostOptions{hostNamespace: "libretto", applyStrategy: defaultOptions().applyStrategy}
}

func (o *hostOptions) addTo(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.hostNamespace, "host-namespace", o.hostNamespace, "the namespace of the host, where ControllerRevisions of cluster-scoped parents are")
	f.StringVar(&o.applyStrategy, "apply-strategy", o.applyStrategy, "that of the host: how children are written where a definition does not say: dynamic-apply or server-side-apply")
	completeFlag(c, "apply-strategy", applyStrategies...)
}

// host returns what definitions are planned with.
func (o *hostOptions) host() (stage.Host, error) {
	strategy, err := strategyOf(o.applyStrategy)
	return stage.Host{HostNamespace: o.hostNamespace, Strategy: strategy}, err
}
