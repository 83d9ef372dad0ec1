// Package serve implements libretto serve: it wires the host together, and runs it while it leads.
package serve

import (
	"context"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/rollout/analysis"
	"github.com/libretto-k8s/libretto/controllers/scripttest"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview/hosted"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/engines/webhook"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/host"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts"
)

func Command(w cli.Process) *cobra.Command {
	o := defaultOptions()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Host every definition of a cluster",
		Long: `Host every CompositeController, DecoratorController and MapController of a cluster.

The cluster is the one of --kubeconfig, else that of kubectl: of $KUBECONFIG or
~/.kube/config, else the one that this process runs in. The log says which. Flags of metacontroller that have another name here are
taken too. A binary that is called metacontroller serves without being told to.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return serve(c.Context(), w, o) },
	}
	o.addTo(c.Flags())
	o.addAliases(c.Flags())
	cli.CompleteFlag(c, "script-isolation", isolationProcess, isolationNone)
	cli.CompleteFlag(c, "script-trust", trustNamespace, trustShared)
	cli.CompleteFlag(c, "require-confinement", requirements...)
	cli.CompleteFlag(c, "apply-strategy", cli.ApplyStrategies...)
	cli.CompleteFlag(c, "logging-format", "json", "console")
	cli.Conduct{Success: "it was told to stop", Problems: "it can't start, or lost its lease", Stderr: "the log"}.AddTo(c)
	c.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprintf(c.OutOrStdout(), "Usage:\n  %s\n%s\n", c.UseLine(), usage(c.LocalFlags()))
		return err
	})
	return c
}

// serve wires the program and runs it until ctx ends.
func serve(ctx context.Context, w cli.Process, o *options) error {
	if err := o.check(); err != nil {
		return err
	}
	log, err := newLogger(w.Stderr, logFormat(o.log.format, w.StderrIsTerminal), o.log.verbosity)
	if err != nil {
		return err
	}
	if err := logClientGo(log, o.log.verbosity); err != nil {
		return err
	}
	if err := o.scripts.isolation.requireConfinement(w.Version); err != nil {
		return err
	}
	restConfig, from, err := o.cluster.Config(w)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerClientMetrics(registry)
	registerBuildInfo(registry, w.Build())

	p := &probes{}
	ctx, cancel := context.WithCancel(ctx)
	servers, err := listen(ctx, log, o, registry, p)
	if err != nil {
		cancel()
		return err
	}
	defer servers.wait()
	defer cancel() // Before servers.wait, because the servers end with the context.
	log.Info("libretto starts", append([]any{
		"version", w.Version, "server", restConfig.Host, "context", from.Context, "kubeconfig", from.File,
	}, limitMemory(w.Getenv, o.scripts.isolation)...)...)
	go returnMemory(ctx)
	return lead(ctx, restConfig, o, log, countLeader(registry, func(ctx context.Context, config *rest.Config) error {
		return hostDefinitions(ctx, config, w, o, log, registry, p)
	}))
}

// schemaTimeout is how long a reconcile waits for schemas, once. Without them it goes by field names.
const schemaTimeout = 10 * time.Second

// hostDefinitions runs the controllers. Only the leader calls it.
func hostDefinitions(
	ctx context.Context, restConfig *rest.Config, w cli.Process, o *options, log logr.Logger, registry *prometheus.Registry, p *probes,
) error {
	clients, err := newClients(restConfig, requestTimeout)
	if err != nil {
		return fmt.Errorf("client: %w", err)
	}
	answers := lru.New(o.responseCache.Value())
	parent.RegisterAnswerCacheMetrics(registry, answers)
	engineRegistry, stopEngines, err := o.scripts.isolation.engines(w.Version, log, registry, engines.Config{
		UserAgent: w.UserAgent(), Calls: o.workers * o.concurrentCalls, Answers: answers,
	})
	if err != nil {
		return err
	}
	defer stopEngines()
	resources, schemas := newDiscovery(clients, o, log)
	target, err := labels.Parse(o.targetSelector)
	if err != nil {
		return fmt.Errorf("--target-label-selector: %w", err)
	}
	strategy, err := cli.StrategyOf(o.applyStrategy)
	if err != nil {
		return err
	}
	scriptMetrics := scripts.NewMetrics(registry)
	library, err := newLibrary(w, clients, resources, engineRegistry, o, log, scriptMetrics)
	if err != nil {
		return err
	}
	pool := informer.NewRESTPool(ctx, clients.reading, log.WithName("informer"))
	pool.KeepFields(o.fieldManager)
	environment := parent.Environment{
		Client: clients.bounded, Children: clients.children, Metadata: clients.boundedMetadata, Pool: pool, Schemas: schemas,
		Access: access.NewReviewer(clients.typed.AuthorizationV1().SelfSubjectAccessReviews(), clock.RealClock{}),
		Clock:  clock.RealClock{}, Log: log, Metrics: parent.NewMetrics(registry), Writes: o.concurrentWrites, Calls: o.concurrentCalls,
		Answers: answers, PassAnswerBytes: o.syncResponses.Value(), StatusDelay: parent.DefaultStatusDelay,
	}
	defer recordEvents(&environment, clients.typed, o)()
	definitions := definition.New(definition.Config{
		Environment: environment, Discovery: resources, Library: library,
		ScriptMetrics: scriptMetrics, DefinitionMetrics: definition.NewMetrics(registry),
		Credentials: credentials.NewStore(
			objectwatch.New(clients.typed, log.WithName("credentials")), credentials.NewTokenRequests(clients.typed, restConfig), clock.RealClock{}),
		Failover: newFailover(registry, log, schemas),
		Engines:  engineRegistry, Host: host.New(ctx), Metrics: controller.NewMetrics(registry),
		Namespace: ownNamespace(o.namespace), Target: target,
		ApplyStrategy: strategy, FieldManager: o.fieldManager,
		Workers: o.workers, ReloadSpread: o.scripts.reloadSpread, ResyncPeriod: o.resyncPeriod, Previewer: newPreviewer(o, schemas),
		Analyst: &analysis.Analyst{Client: clients.bounded, HTTP: webhook.NewClient(), Clock: clock.RealClock{}},
	})
	p.setCheck(definitions.Synced)
	go schemas.Run(ctx)
	if err := resources.Start(ctx); err != nil {
		return err
	}
	definitions.Run(ctx)
	log.Info("libretto has stopped")
	return nil
}

// newDiscovery returns what reads the resources and the schemas of the API server.
func newDiscovery(clients *clients, o *options, log logr.Logger) (*discovery.Discovery, *schema.Source) {
	resources := discovery.New(discovery.Config{
		API: clients.typed.Discovery(), Client: clients.unbounded, Interval: o.discoveryInterval, Clock: clock.RealClock{}, Log: log.WithName("discovery"),
	})
	schemas := schema.New(schema.Config{
		API: schema.Over(clients.typed.Discovery().RESTClient()), Interval: o.discoveryInterval, Timeout: schemaTimeout,
		Clock: clock.RealClock{}, Log: log.WithName("schema"),
	})
	resources.ListenToSchemas(schemas.Changed)
	return resources, schemas
}

// newLibrary returns what loads scripts. Their tests have a webhook engine of their own, which is given canned responses.
func newLibrary(
	w cli.Process, clients *clients, resources *discovery.Discovery, registry *engines.Registry, o *options, log logr.Logger, metrics *scripts.Metrics,
) (*scripts.Library, error) {
	webhooks, err := engines.NewRegistry(engines.Config{UserAgent: w.UserAgent()}, webhook.Definition())
	return scripts.NewLibrary(scripts.Config{
		Client: clients.typed, Metadata: clients.metadata, Engines: registry, Root: o.scripts.directory,
		Log: log.WithName("scripts"), Metrics: metrics,
		Tester: &scripttest.Runner{
			Client: clients.bounded, Find: resources.Find, Namespace: ownNamespace(o.namespace), Scripts: registry, Webhooks: webhooks,
		},
	}), err
}

// newPreviewer returns what previews edits of scripts, or nil if each one that loads is to take over.
func newPreviewer(o *options, schemas *schema.Source) definition.Previewer {
	if !o.scripts.preview {
		return nil
	}
	return hosted.New(ownNamespace(o.namespace), schemas)
}

// newFailover returns the combiner of scripts and webhooks. Its log hides what schemas mark as a
// password.
func newFailover(registry *prometheus.Registry, log logr.Logger, schemas *schema.Source) *failover.Combiner {
	combiner := failover.New(registry, log)
	combiner.Secret = schemas.Secret
	return combiner
}
