package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
)

// options are the flags of serve. They have the names that Kubernetes components use.
type options struct {
	kubeconfig        string
	kubeAPIQPS        float32
	kubeAPIBurst      int
	metricsAddress    string
	probeAddress      string
	profilingAddress  string
	workers           int
	concurrentWrites  int
	concurrentCalls   int
	responseCache     resource.QuantityValue
	syncResponses     resource.QuantityValue
	discoveryInterval time.Duration
	resyncPeriod      time.Duration
	reloadSpread      time.Duration
	scriptPreview     bool
	scriptsDir        string
	eventsQPS         float32
	eventsBurst       int
	leaderElect       bool
	leaseName         string
	leaseNamespace    string
	namespace         string
	targetSelector    string
	applyStrategy     string
	fieldManager      string
	isolation         isolation
	loggingFormat     string
	verbosity         int

	// kubeContext, asUser and asGroups are those of commands that read a cluster as kubectl does. serve has none.
	kubeContext, asUser string
	asGroups            []string
}

func defaultOptions() *options {
	return &options{
		kubeAPIQPS: 200, kubeAPIBurst: 400,
		metricsAddress: ":9999", probeAddress: ":8081", profilingAddress: "0",
		workers: 5, concurrentWrites: 8, concurrentCalls: 8,
		responseCache: mebibytes(parent.DefaultAnswerCacheBytes), syncResponses: mebibytes(parent.DefaultPassAnswerBytes),
		discoveryInterval: 30 * time.Second, resyncPeriod: 30 * time.Minute, reloadSpread: 10 * time.Millisecond, scriptPreview: true,
		eventsQPS: 1. / 300, eventsBurst: 25,
		applyStrategy: "dynamic-apply", fieldManager: "libretto",
		leaseName: "metacontroller", isolation: defaultIsolation(),
	}
}

func (o *options) addTo(f *pflag.FlagSet) {
	f.StringVar(&o.kubeconfig, "kubeconfig", o.kubeconfig, "kubeconfig file of the cluster (default that of kubectl: $KUBECONFIG, else ~/.kube/config, else the cluster around the process)")
	f.Float32Var(&o.kubeAPIQPS, "kube-api-qps", o.kubeAPIQPS, "requests a second to the API server, on average; negative means no limit")
	f.IntVar(&o.kubeAPIBurst, "kube-api-burst", o.kubeAPIBurst, "requests to the API server at once")
	f.StringVar(&o.metricsAddress, "metrics-bind-address", o.metricsAddress, "where /metrics is served; 0 means nowhere")
	f.StringVar(&o.probeAddress, "health-probe-bind-address", o.probeAddress, "where /healthz and /readyz are served; 0 means nowhere")
	f.StringVar(&o.profilingAddress, "profiling-bind-address", o.profilingAddress, "where /debug/pprof is served, to whoever can connect; 0 means nowhere")
	f.IntVar(&o.workers, "workers", o.workers, "parents of one definition that are reconciled at once")
	f.IntVar(&o.concurrentWrites, "concurrent-writes", o.concurrentWrites, "writes for one parent that are under way at once")
	f.IntVar(&o.concurrentCalls, "concurrent-calls", o.concurrentCalls, "hook calls for one parent that are under way at once")
	f.Var(&o.responseCache, "response-cache-size", "memory for the hook responses that are cached, of all definitions together; each has an equal share of it at the least")
	f.Var(&o.syncResponses, "max-sync-response-size", "memory that all hook responses of one sync of a parent may take together")
	f.DurationVar(&o.discoveryInterval, "discovery-interval", o.discoveryInterval, "how often resources that no CustomResourceDefinition defines are looked for")
	f.DurationVar(&o.resyncPeriod, "resync-period", o.resyncPeriod, "how often parents are synced at the least, though nothing changed; 0 means only as often as their definition says")
	f.DurationVar(&o.reloadSpread, "reload-spread", o.reloadSpread, "time between two parents that are synced again because a script changed")
	f.BoolVar(&o.scriptPreview, "script-preview", o.scriptPreview,
		"preview edits of scripts, and hold those that would delete or recreate most children, or make parents fail")
	f.StringVar(&o.scriptsDir, "scripts-dir", o.scriptsDir, "directory that script sources of kind directory are below; empty means that there are none")
	f.Float32Var(&o.eventsQPS, "events-qps", o.eventsQPS, "events a second about one object, on average")
	f.IntVar(&o.eventsBurst, "events-burst", o.eventsBurst, "events about one object at once")
	f.BoolVar(&o.leaderElect, "leader-elect", o.leaderElect, "of several processes let only the one that holds the lease work")
	f.StringVar(&o.leaseName, "leader-elect-resource-name", o.leaseName, "name of the lease")
	f.StringVar(&o.leaseNamespace, "leader-elect-resource-namespace", o.leaseNamespace, "namespace of the lease (default that of the process)")
	f.StringVar(&o.namespace, "namespace", o.namespace, "where the ControllerRevisions of cluster-scoped parents, and of scripts from several namespaces, are kept (default that of the process, else default)")
	f.StringVar(&o.targetSelector, "target-label-selector", o.targetSelector, "host only the definitions whose labels match")
	f.StringVar(&o.applyStrategy, "apply-strategy", o.applyStrategy, "how children are written where a definition does not say: dynamic-apply or server-side-apply")
	f.StringVar(&o.fieldManager, "apply-strategy-ssa-field-manager", o.fieldManager, "what the field managers of server-side apply begin with; a slash, the kind and the name of the definition follow")
	o.isolation.addTo(f)
	f.StringVar(&o.loggingFormat, "logging-format", o.loggingFormat, "json or console (default console on a terminal, else json)")
	f.IntVarP(&o.verbosity, "v", "v", o.verbosity, verbosityUsage)
}

// verbosityUsage has every verbosity.
const verbosityUsage = "how much is logged, each with what is before: 0 starts, stops, how many children a sync wrote, scripts that were loaded or not, parents that fail and hot loops; " +
	"1 decisions, each written child, what scripts print and each failure; 4 changed fields, what hooks answer and each sync; " +
	"6 requests to the API server, 7 their headers, 8 to 10 their contents too, also those of Secrets; 2, 3 and 5 add what client-go has there"

// check returns an error for the first flag with an invalid value.
func (o *options) check() error {
	for name, value := range map[string]int64{
		"workers": int64(o.workers), "concurrent-writes": int64(o.concurrentWrites), "concurrent-calls": int64(o.concurrentCalls),
		"discovery-interval": int64(o.discoveryInterval), "kube-api-burst": int64(o.kubeAPIBurst), "events-burst": int64(o.eventsBurst),
	} {
		if value <= 0 {
			return fmt.Errorf("--%s must be more than 0", name)
		}
	}
	if o.responseCache.Value() < 0 || o.syncResponses.Value() < minSyncResponses {
		return errors.New("--response-cache-size must not be negative, and --max-sync-response-size must be at least 1Mi")
	}
	if _, err := labels.Parse(o.targetSelector); err != nil {
		return fmt.Errorf("--target-label-selector: %w", err)
	}
	if _, err := o.strategy(); err != nil {
		return err
	}
	if err := o.isolation.check(); err != nil {
		return err
	}
	if o.fieldManager == "" || len(o.fieldManager) > maxFieldManager {
		return fmt.Errorf("--apply-strategy-ssa-field-manager must have 1 to %d characters", maxFieldManager)
	}
	if o.reloadSpread < 0 || o.resyncPeriod < 0 {
		return errors.New("--reload-spread and --resync-period must not be negative")
	}
	return nil
}

// minSyncResponses is the least value of --max-sync-response-size.
const minSyncResponses = 1 << 20

// mebibytes returns a number of bytes as the value of a flag.
func mebibytes(bytes int64) resource.QuantityValue {
	return resource.QuantityValue{Quantity: *resource.NewQuantity(bytes, resource.BinarySI)}
}

// maxFieldManager leaves room for the kind and name of a definition: the API server allows 128
// characters.
const maxFieldManager = 64

// strategy returns the value of --apply-strategy.
func (o *options) strategy() (v1alpha1.ApplyStrategy, error) {
	return strategyOf(o.applyStrategy)
}

// applyStrategies are metacontroller's words.
var applyStrategies = []string{"dynamic-apply", "server-side-apply"}

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
