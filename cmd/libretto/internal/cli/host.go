package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/stage"
)

// HostFlags are what commands have to know of the host that they stand in for.
type HostFlags struct{ Namespace, applyStrategy string }

// NewHostFlags returns the flags with the defaults of the host.
func NewHostFlags() HostFlags {
	return HostFlags{Namespace: "libretto", applyStrategy: DefaultApplyStrategy}
}

// AddTo adds the flags to a command.
func (o *HostFlags) AddTo(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.Namespace, "host-namespace", o.Namespace,
		"the namespace of the host, where ControllerRevisions of cluster-scoped parents are")
	f.StringVar(&o.applyStrategy, "apply-strategy", o.applyStrategy,
		"that of the host: how children are written where a definition does not say: dynamic-apply or server-side-apply")
	CompleteFlag(c, "apply-strategy", ApplyStrategies...)
}

// Host returns what definitions are planned with.
func (o *HostFlags) Host() (stage.Host, error) {
	strategy, err := StrategyOf(o.applyStrategy)
	return stage.Host{HostNamespace: o.Namespace, Strategy: strategy}, err
}

// ApplyStrategies are metacontroller's words.
var ApplyStrategies = []string{DefaultApplyStrategy, "server-side-apply"}

// DefaultApplyStrategy is how children are written if neither the host nor the definition says.
const DefaultApplyStrategy = "dynamic-apply"

// StrategyOf returns a strategy, which may be metacontroller's word or the API's.
func StrategyOf(word string) (v1alpha1.ApplyStrategy, error) {
	switch word {
	case "dynamic-apply", string(v1alpha1.DynamicApply):
		return v1alpha1.DynamicApply, nil
	case "server-side-apply", string(v1alpha1.ServerSideApply):
		return v1alpha1.ServerSideApply, nil
	}
	return "", fmt.Errorf("--apply-strategy must be dynamic-apply or server-side-apply, not %q", word)
}
