package serve

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/membership"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// options are the flags of serve. They have the names that Kubernetes components use.
type options struct {
	cluster  cli.ClusterFlags
	listen   addresses
	election election
	events   parent.EventLimits
	log      logOptions

	// What is hosted, and how.
	hosted            hostedOptions
	namespace         string
	discoveryInterval time.Duration
	resyncPeriod      time.Duration
	applyStrategy     string
	fieldManager      string
	accounts          accountOptions
	// namespaces are those of the definitions, or none for all, and namespaceDefinitions is how many one may have.
	namespaces           []string
	namespaceDefinitions int

	// workers are those of each definition; concurrentWrites and concurrentCalls are for each parent.
	workers, concurrentWrites, concurrentCalls int
	responseCache, syncResponses               resource.QuantityValue

	scripts scriptOptions
}

// hostedOptions are where definitions are applied from, and which ones are hosted.
type hostedOptions struct{ folder, targetSelector string }

// accountOptions say which definitions are refused because of their accounts: those that name none, and those that theirs does not list.
type accountOptions struct{ required, annotated bool }

// addresses are what the process listens on.
type addresses struct{ metrics, probes, profiling string }

// election is which of several processes works.
type election struct {
	on              bool
	name, namespace string // Of the lease.
	times           leaseTimes
	// shards is into how many ranges of namespaces the work is divided.
	shards int
}

// isSharded reports whether several processes work at once.
func (e *election) isSharded() bool { return e.shards > 1 }

// group returns the processes that work at once.
func (e *election) group() membership.Group { return membership.Group{Name: e.name, Count: e.shards} }

func (e *election) addTo(f *pflag.FlagSet) {
	f.BoolVar(&e.on, "leader-elect", e.on, "of several processes let only the one that holds the lease work")
	f.StringVar(&e.name, "leader-elect-resource-name", e.name, "name of the lease")
	f.StringVar(&e.namespace, "leader-elect-resource-namespace", e.namespace,
		"namespace of the lease (default that of the process)")
	f.DurationVar(&e.times.duration, "leader-elect-lease-duration", e.times.duration,
		"how long after the last renewal of the lease another process takes it")
	f.DurationVar(&e.times.renewDeadline, "leader-elect-renew-deadline", e.times.renewDeadline,
		"how long the leader tries to renew the lease before it ends")
	f.DurationVar(&e.times.retryPeriod, "leader-elect-retry-period", e.times.retryPeriod,
		"how often the leader renews the lease, and others look at it")
	f.IntVar(&e.shards, "shards", e.shards,
		"into how many ranges the namespaces are divided, which the processes share; with 1 one process has all, and others wait")
}

// check returns an error for flags that do not go together.
func (e *election) check() error {
	switch {
	case e.shards < 1:
		return errors.New("--shards must be at least 1")
	case e.isSharded() && !e.on:
		return errors.New("--shards needs --leader-elect: by leases the processes agree which of them has which shard")
	case e.isSharded() && len(validation.IsValidLabelValue(e.name)) > 0:
		return fmt.Errorf("--leader-elect-resource-name: with --shards it must have at most %d characters", validation.LabelValueMaxLength)
	}
	return e.times.check()
}

// logOptions are what the process logs.
type logOptions struct {
	format    string
	verbosity int
}

// scriptOptions are where scripts are from, where they run, and how an edit of them takes over.
type scriptOptions struct {
	directory    string
	artifacts    []string // The hosts of Flux's artifacts.
	preview      bool
	reloadSpread time.Duration
	isolation    isolation
}

func defaultOptions() *options {
	return &options{
		cluster: cli.DefaultClusterFlags(), listen: addresses{metrics: ":9999", probes: ":8081", profiling: "0"},
		workers: 5, concurrentWrites: 8, concurrentCalls: 8,
		responseCache: mebibytes(parent.DefaultAnswerCacheBytes), syncResponses: mebibytes(parent.DefaultPassAnswerBytes),
		discoveryInterval: 30 * time.Second, resyncPeriod: 30 * time.Minute,
		scripts: scriptOptions{
			preview: true, artifacts: artifact.DefaultHosts, reloadSpread: 10 * time.Millisecond, isolation: defaultIsolation(),
		},
		events:        parent.EventLimits{QPS: 1. / 300, Burst: 25},
		applyStrategy: cli.DefaultApplyStrategy, fieldManager: "libretto", namespaceDefinitions: 20,
		election: election{name: cli.DefaultLease, times: defaultLeaseTimes, shards: 1},
	}
}

func (o *options) addTo(f *pflag.FlagSet) {
	o.cluster.AddKubeconfig(f)
	o.cluster.AddLimits(f)
	f.StringVar(&o.listen.metrics, "metrics-bind-address", o.listen.metrics, "where /metrics is served; 0 means nowhere")
	f.StringVar(&o.listen.probes, "health-probe-bind-address", o.listen.probes, "where /healthz and /readyz are served; 0 means nowhere")
	f.StringVar(&o.listen.profiling, "profiling-bind-address", o.listen.profiling,
		"where /debug/pprof is served, to whoever can connect; 0 means nowhere")
	f.IntVar(&o.workers, "workers", o.workers, "parents of one definition, or of all definitions in one namespace, that are reconciled at once")
	f.IntVar(&o.concurrentWrites, "concurrent-writes", o.concurrentWrites, "writes for one parent that are under way at once")
	f.IntVar(&o.concurrentCalls, "concurrent-calls", o.concurrentCalls, "hook calls for one parent that are under way at once")
	f.Var(&o.responseCache, "response-cache-size",
		"memory for the hook responses that are cached, of all definitions together; each has an equal share of it at the least")
	f.Var(&o.syncResponses, "max-sync-response-size", "memory that all hook responses of one sync of a parent may take together")
	f.DurationVar(&o.discoveryInterval, "discovery-interval", o.discoveryInterval,
		"how often resources that no CustomResourceDefinition defines are looked for")
	f.DurationVar(&o.resyncPeriod, "resync-period", o.resyncPeriod,
		"how often parents are synced at the least, though nothing changed; 0 means only as often as their definition says")
	f.DurationVar(&o.scripts.reloadSpread, "reload-spread", o.scripts.reloadSpread,
		"time between two parents that are synced again because a script changed")
	f.BoolVar(&o.scripts.preview, "script-preview", o.scripts.preview,
		"preview edits of scripts, and hold those that would delete or recreate most children, or make parents fail")
	f.StringVar(&o.scripts.directory, "scripts-dir", o.scripts.directory,
		"directory that script sources of kind directory are below; empty means that there are none")
	f.StringSliceVar(&o.scripts.artifacts, "flux-artifact-hosts", o.scripts.artifacts,
		"`hosts` that artifacts of script sources of kind flux are fetched from, each with its port unless that is the scheme's own; "+
			"empty means that there are no such sources")
	f.Float32Var(&o.events.QPS, "events-qps", o.events.QPS, "events a second about one object, on average")
	f.IntVar(&o.events.Burst, "events-burst", o.events.Burst, "events about one object at once")
	o.election.addTo(f)
	f.StringVar(&o.namespace, "namespace", o.namespace,
		"where the ControllerRevisions of cluster-scoped parents, and of scripts from several namespaces, are kept (default that of the process, else default)")
	f.StringVarP(&o.hosted.folder, "filename", "f", o.hosted.folder,
		"`directory` with definitions and their ConfigMaps, which are applied to the cluster, again when it changes; a kustomization is built")
	f.StringVar(&o.hosted.targetSelector, "target-label-selector", o.hosted.targetSelector, "host only the definitions whose labels match")
	f.BoolVar(&o.accounts.required, "require-service-account", o.accounts.required,
		"refuse definitions without spec.serviceAccountRef, which would have the rights of this process")
	f.BoolVar(&o.accounts.annotated, "require-account-annotation", o.accounts.annotated,
		"refuse definitions that are not in the annotation libretto.dev/used-by of the ServiceAccount that they name")
	f.StringSliceVar(&o.namespaces, "namespaces", o.namespaces,
		"host only definitions of group libretto.dev in these `namespaces`, and read and write nothing outside of them")
	f.IntVar(&o.namespaceDefinitions, "definitions-per-namespace", o.namespaceDefinitions,
		"definitions of group libretto.dev that a namespace may have; the newest are refused; 0 means any number")
	f.StringVar(&o.applyStrategy, "apply-strategy", o.applyStrategy,
		"how children are written where a definition does not say: dynamic-apply or server-side-apply")
	f.StringVar(&o.fieldManager, "apply-strategy-ssa-field-manager", o.fieldManager,
		"what the field managers of server-side apply begin with; a slash, the kind and the name of the definition follow")
	o.scripts.isolation.addTo(f)
	f.StringVar(&o.log.format, "logging-format", o.log.format, "json or console (default console on a terminal, else json)")
	f.IntVarP(&o.log.verbosity, "v", "v", o.log.verbosity, verbosityUsage)
}

// verbosityUsage has every verbosity.
const verbosityUsage = "how much is logged, each with what is before: 0 starts, stops, how many children a sync wrote, scripts that were loaded or not, parents that fail and hot loops; " +
	"1 decisions, each written child, what scripts print and each failure; 4 changed fields, what hooks answer and each sync; " +
	"6 requests to the API server, 7 their headers, 8 to 10 their contents too, also those of Secrets; 2, 3 and 5 add what client-go has there"

// check returns an error for the first flag with an invalid value.
func (o *options) check() error {
	for name, value := range map[string]int64{
		"workers": int64(o.workers), "concurrent-writes": int64(o.concurrentWrites), "concurrent-calls": int64(o.concurrentCalls),
		"discovery-interval": int64(o.discoveryInterval), "kube-api-burst": int64(o.cluster.Burst), "events-burst": int64(o.events.Burst),
	} {
		if value <= 0 {
			return fmt.Errorf("--%s must be more than 0", name)
		}
	}
	if o.responseCache.Value() < 0 || o.syncResponses.Value() < minSyncResponses {
		return errors.New("--response-cache-size must not be negative, and --max-sync-response-size must be at least 1Mi")
	}
	if info, err := os.Stat(o.hosted.folder); err == nil && !info.IsDir() {
		return fmt.Errorf("--filename: %s is a file: name the directory that holds it", o.hosted.folder)
	}
	if _, err := labels.Parse(o.hosted.targetSelector); err != nil {
		return fmt.Errorf("--target-label-selector: %w", err)
	}
	if _, err := cli.StrategyOf(o.applyStrategy); err != nil {
		return err
	}
	if err := o.scripts.isolation.check(); err != nil {
		return err
	}
	if o.fieldManager == "" || len(o.fieldManager) > maxFieldManager {
		return fmt.Errorf("--apply-strategy-ssa-field-manager must have 1 to %d characters", maxFieldManager)
	}
	for _, host := range o.scripts.artifacts {
		if err := artifact.CheckHost(host); err != nil {
			return fmt.Errorf("--flux-artifact-hosts: %w", err)
		}
	}
	for _, namespace := range o.namespaces {
		if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 {
			return fmt.Errorf("--namespaces: %q: %s", namespace, problems[0])
		}
	}
	if err := o.election.check(); err != nil {
		return err
	}
	if o.namespaceDefinitions < 0 {
		return errors.New("--definitions-per-namespace must not be negative")
	}
	if o.scripts.reloadSpread < 0 || o.resyncPeriod < 0 {
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
