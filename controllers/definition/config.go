package definition

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/host"
	"github.com/libretto-k8s/libretto/scripts"
)

// Config is what the definitions of a process are hosted with.
type Config struct {
	Environment parent.Environment
	Discovery   *discovery.Discovery
	Library     *scripts.Library
	Engines     *engines.Registry
	// Credentials may be nil: then webhooks have none.
	Credentials *credentials.Store
	// Failover may be nil: then shadows are not called.
	Failover *failover.Combiner
	Host     *host.Host
	// ScriptMetrics may be nil.
	ScriptMetrics *scripts.Metrics
	Metrics       *controller.Metrics
	// Target selects the definitions to host; it is never nil.
	Target labels.Selector
	// Namespace is where what belongs to cluster-scoped parents is kept.
	Namespace string
	// ApplyStrategy is how children are written where a definition does not say. Empty
	// means dynamic apply.
	ApplyStrategy v1alpha1.ApplyStrategy
	// FieldManager begins the names under which definitions apply on the server's side.
	// Environment.Pool keeps the fields of these.
	FieldManager string
	// Workers is the number of parents of one definition that are reconciled at once.
	Workers int
	// ResyncPeriod is how often parents are synced at the least, though nothing
	// changed. Zero means only as often as their definition says.
	ResyncPeriod time.Duration
	// ReloadSpread is the time between two parents that are synced again because
	// scripts changed.
	ReloadSpread time.Duration
}
