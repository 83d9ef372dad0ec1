package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
)

// hostOptions are what commands have to know of the host that they stand in for.
type hostOptions struct{ hostNamespace, applyStrategy string }

func newHostOptions() hostOptions {
	return hostOptions{hostNamespace: "libretto", applyStrategy: defaultApplyStrategy}
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

// applyStrategies are metacontroller's words.
var applyStrategies = []string{defaultApplyStrategy, "server-side-apply"}

const defaultApplyStrategy = "dynamic-apply"

// strategyOf returns a strategy, which may be metacontroller's word or the API's.
func strategyOf(word string) (v1alpha1.ApplyStrategy, error) {
	switch word {
	case "dynamic-apply", string(v1alpha1.DynamicApply):
		return v1alpha1.DynamicApply, nil
	case "server-side-apply", string(v1alpha1.ServerSideApply):
		return v1alpha1.ServerSideApply, nil
	}
	return "", fmt.Errorf("--apply-strategy must be dynamic-apply or server-side-apply, not %q", word)
}
