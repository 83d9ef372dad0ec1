package definition

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition/reports"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout/analysis"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/host"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
	"github.com/libretto-k8s/libretto/scripts"
)

// Config is the configuration of a Reconciler.
type Config struct {
	Environment parent.Environment
	Discovery   *discovery.Discovery
	Library     *scripts.Library
	Engines     *engines.Registry
	// Credentials may be nil: then webhooks with credentials are refused.
	Credentials *credentials.Store
	// Failover may be nil: then shadows are not called.
	Failover *failover.Combiner
	Host     *host.Host
	// Previewer may be nil: then each revision that loads takes over.
	Previewer Previewer
	// Analyst may be nil: then a step with an analysis never goes well.
	Analyst *analysis.Analyst
	// ScriptMetrics may be nil.
	ScriptMetrics *scripts.Metrics
	Metrics       *controller.Metrics
	// DefinitionMetrics may be nil.
	DefinitionMetrics *status.Metrics
	Admission         Admission
	// Shard is what this Reconciler hosts: the parents of some namespaces, and the definitions that it owns. The zero value is everything.
	Shard Shard
	// Namespace is the host's own, for objects that belong to cluster-scoped ones.
	Namespace string
	// ApplyStrategy is that of definitions that set none. It defaults to dynamic apply.
	ApplyStrategy v1alpha1.ApplyStrategy
	// FieldManager is the prefix of the field managers of definitions in server-side apply.
	// Environment.Pool keeps the managed fields of these.
	FieldManager string
	// Workers is the number of parents of one definition that are reconciled at once, or of all definitions in one namespace.
	Workers int
	// ResyncPeriod is the longest time between two syncs of a parent. Zero means that only the
	// definition's own period counts.
	ResyncPeriod time.Duration
	// ReloadSpread is the time between the syncs of two parents after a change of scripts.
	ReloadSpread time.Duration
}

// Shard is what one of several Reconcilers hosts that share the work.
type Shard struct {
	shard.Range
	// Reports are those of the shards to each other. The range of everything needs none.
	Reports *reports.Store
}

// Admission says which definitions are hosted.
type Admission struct {
	// Target selects the definitions to host. It is never nil.
	Target labels.Selector
	// Namespaces are those of the definitions to host, which are then only such with a namespace. Without any all definitions are.
	Namespaces []string
	// DefinitionsPerNamespace is how many definitions a namespace may have. Zero means any number.
	DefinitionsPerNamespace int
	// RequireAccount refuses definitions without an account of their own.
	RequireAccount bool
	// RequireAnnotation refuses definitions that the account which they name does not list. Environment.Metadata reads it.
	RequireAnnotation bool
}
