// Package serve implements libretto serve: it wires the host together, and runs it while it leads.
package serve

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/cli"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/otlp"
	"github.com/libretto-k8s/libretto/cmd/libretto/internal/serve/folder"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/definition/status"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/parent/metrics"
	"github.com/libretto-k8s/libretto/controllers/rollout/analysis"
	"github.com/libretto-k8s/libretto/controllers/scripttest"
	"github.com/libretto-k8s/libretto/controllers/simulation/preview/hosted"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/engines/failover"
	"github.com/libretto-k8s/libretto/engines/webhook"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/telemetry/tracing"
	"github.com/libretto-k8s/libretto/runtime/values/lru"
	"github.com/libretto-k8s/libretto/runtime/values/shard"
	"github.com/libretto-k8s/libretto/runtime/watchset/objectwatch"
	"github.com/libretto-k8s/libretto/scripts"
	"github.com/libretto-k8s/libretto/scripts/artifact"
)

// Command returns libretto serve.
func Command(w cli.Process) *cobra.Command {
	o := defaultOptions()
	c := &cobra.Command{
		Use:   "serve",
		Short: "Host every definition of a cluster",
		Long: `Host every CompositeController, DecoratorController and MapController of a cluster.

The cluster is the one of --kubeconfig, else that of kubectl: of $KUBECONFIG or
~/.kube/config, else the one that this process runs in. The log says which. Flags of metacontroller that have another name here are
taken too. A binary that is called metacontroller serves without a command.`,
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
	cli.Finish(c, cli.Conduct{
		Success: "it was stopped by a signal", Cannot: "a bad flag, it can't start, or it lost its lease", Stderr: "the log",
	})
	c.SetUsageFunc(func(c *cobra.Command) error {
		_, err := fmt.Fprintf(c.OutOrStdout(), "Usage:\n  %s\n%s\n", c.UseLine(), usage(c.LocalFlags()))
		return err
	})
	return c
}

// server is one use of the command: what it was given, and what the whole process has.
type server struct {
	process  cli.Process
	options  *options
	log      logr.Logger
	registry *prometheus.Registry
	probes   *probes
	tracer   trace.Tracer   // Nil if nothing is traced.
	folder   *folder.Folder // Nil without -f.
}

// serve prepares the process, and hosts definitions until ctx ends.
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
	config, from, err := o.cluster.Config(w)
	if err != nil {
		return err
	}
	s := &server{process: w, options: o, log: log, registry: newRegistry(w.Build()), probes: &probes{}}
	var flush func()
	s.tracer, flush = otlp.Tracer(w.Getenv, w.Version, w.UserAgent(), log.WithName("traces"))
	defer flush() // After the lease is released.
	ctx, cancel := context.WithCancel(ctx)
	listening, err := listen(ctx, log, o.listen, s.metrics(), s.probes)
	if err != nil {
		cancel()
		return err
	}
	defer listening.wait()
	defer cancel() // Before listening.wait, because the endpoints end with the context.
	s.followFolder(ctx, ownNamespace(o.namespace), nil)
	log.Info("libretto starts", append([]any{
		"version", w.Version, "server", config.Host, "context", from.Context, "kubeconfig", from.File,
	}, limitMemory(w.Getenv, o.scripts.isolation)...)...)
	go returnMemory(ctx)
	return lead(ctx, config, &o.election, w.Build(), log, countLeader(s.registry, s.begin))
}

// newRegistry returns a registry with the metrics of the process.
func newRegistry(b cli.Build) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerClientMetrics(registry)
	registerBuildInfo(registry, b)
	return registry
}

// metrics serves the metrics. Only where syncs are traced it offers OpenMetrics, whose exemplars are traces: it writes some numbers
// otherwise than before.
func (s *server) metrics() http.Handler {
	return promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{EnableOpenMetrics: s.tracer != nil})
}

// begin makes the job, which works until ctx ends.
func (s *server) begin(ctx context.Context, config *rest.Config, lease *lease) (_ job, err error) {
	h := &hosting{server: s, ctx: ctx, elected: make(chan struct{}), reconcilers: map[*definition.Reconciler]bool{}}
	defer func() {
		if err != nil {
			h.close()
		}
	}()
	if s.tracer != nil {
		config = rest.CopyConfig(config)
		config.Wrap(tracing.Requests)
	}
	if h.clients, err = newClients(config, requestTimeout); err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	answers := lru.New(s.options.responseCache.Value())
	metrics.RegisterAnswerCache(s.registry, answers)
	registry, stopEngines, err := s.options.scripts.isolation.engines(s.process.Version, s.log, s.registry, engines.Config{
		UserAgent: s.process.UserAgent(), Calls: s.options.workers * s.options.concurrentCalls, Answers: answers,
	})
	if err != nil {
		return nil, err
	}
	h.cleanup = append(h.cleanup, stopEngines)
	resources, schemas := s.newDiscovery(h.clients)
	environment := s.environment(ctx, h.clients, schemas, answers)
	h.cleanup = append(h.cleanup, recordEvents(&environment, h.clients.typed, s.options.events))
	h.events = environment.Events.Rare
	if h.config, err = s.definitions(config, h.clients, environment, resources, registry); err != nil {
		return nil, err
	}
	go schemas.Run(ctx)
	if err := resources.Start(ctx); err != nil {
		return nil, err
	}
	if s.options.election.isSharded() {
		h.member, err = h.newMember(config, lease)
		return h, err
	}
	h.running.Go(func() { h.host(ctx, shard.Range{}) })
	return h, nil
}

// followFolder reads the folder of -f, whose objects are in a namespace if they name none. A process that can't is not ready, so that a
// rollout of an image with a broken file stops. What it hosts is hosted all the same.
func (s *server) followFolder(ctx context.Context, namespace string, listener folder.Listener) {
	o := s.options
	if o.hosted.folder == "" {
		return
	}
	target, _ := labels.Parse(o.hosted.targetSelector) // It was checked.
	s.folder = folder.New(folder.Config{
		Path: o.hosted.folder, Namespace: namespace, Target: target, Namespaces: o.namespaces,
		Clock: clock.RealClock{}, Log: s.log.WithName("folder"), Listener: listener,
	}, s.registry)
	s.probes.setFolderCheck(s.folder.Err)
	go s.folder.Follow(ctx)
}

// schemaTimeout is how long a reconcile waits for schemas, once. Without them field names decide.
const schemaTimeout = 10 * time.Second

// newDiscovery returns what reads the resources and the schemas of the API server.
func (s *server) newDiscovery(clients *clients) (*discovery.Discovery, *schema.Source) {
	interval := s.options.discoveryInterval
	config := discovery.Config{
		API: clients.host.typed.Discovery(), Client: clients.host.dynamic, Interval: interval,
		Clock: clock.RealClock{}, Log: s.log.WithName("discovery"),
	}
	if len(s.options.namespaces) > 0 { // No Role lets it watch CustomResourceDefinitions.
		config.Client = nil
	}
	resources := discovery.New(config)
	schemas := schema.New(schema.Config{
		API: schema.Over(clients.host.typed.Discovery().RESTClient()), Interval: interval, Timeout: schemaTimeout,
		Clock: clock.RealClock{}, Log: s.log.WithName("schema"),
	})
	resources.ListenToSchemas(schemas.Changed)
	return resources, schemas
}

// environment returns what the reconcilers of all definitions share. The recorders of events are not in it yet.
func (s *server) environment(ctx context.Context, clients *clients, schemas *schema.Source, answers *lru.Cache) parent.Environment {
	pool := informer.NewRESTPool(ctx, clients.caches, s.log.WithName("informer"))
	pool.KeepFields(s.options.fieldManager)
	reviewer := access.NewReviewer(clients.typed.AuthorizationV1().SelfSubjectAccessReviews(), clock.RealClock{})
	reviewer.Changes = &access.Changes{
		Client: clients.host.metadata, Namespaces: s.options.namespaces, Clock: clock.RealClock{}, Log: s.log.WithName("rights"),
	}
	return parent.Environment{
		Client: clients.bounded, Children: clients.children, Metadata: clients.boundedMetadata, Pool: pool, Schemas: schemas,
		Access: reviewer, Reads: reviewer, Clock: clock.RealClock{}, Log: s.log, Metrics: metrics.New(s.registry), Tracer: s.tracer,
		Writes: s.options.concurrentWrites, Calls: s.options.concurrentCalls,
		Answers: answers, PassAnswerBytes: s.options.syncResponses.Value(), StatusDelay: parent.DefaultStatusDelay,
	}
}

// definitions returns what all that run the controllers of definitions share.
func (s *server) definitions(
	config *rest.Config, clients *clients, environment parent.Environment, resources *discovery.Discovery, registry *engines.Registry,
) (definition.Config, error) {
	o := s.options
	target, err := labels.Parse(o.hosted.targetSelector)
	if err != nil {
		return definition.Config{}, fmt.Errorf("--target-label-selector: %w", err)
	}
	strategy, err := cli.StrategyOf(o.applyStrategy)
	if err != nil {
		return definition.Config{}, err
	}
	scriptMetrics := scripts.NewMetrics(s.registry)
	library, err := s.newLibrary(clients, resources, registry, scriptMetrics)
	if err != nil {
		return definition.Config{}, err
	}
	return definition.Config{
		Environment: environment, Discovery: resources, Library: library,
		ScriptMetrics: scriptMetrics, DefinitionMetrics: status.NewMetrics(s.registry),
		Credentials: credentials.NewStore(
			objectwatch.New(clients.typed, s.log.WithName("credentials")), credentials.NewTokenRequests(clients.typed, config), clock.RealClock{}),
		Failover: s.newFailover(environment.Schemas),
		Engines:  registry, Metrics: controller.NewMetrics(s.registry),
		Admission: definition.Admission{
			Target: target, Namespaces: o.namespaces, DefinitionsPerNamespace: o.namespaceDefinitions,
			RequireAccount: o.accounts.required, RequireAnnotation: o.accounts.annotated,
		},
		Namespace:     ownNamespace(o.namespace),
		ApplyStrategy: strategy, FieldManager: o.fieldManager,
		Workers: o.workers, ReloadSpread: o.scripts.reloadSpread, ResyncPeriod: o.resyncPeriod,
		Previewer: s.newPreviewer(environment.Schemas, environment.Access),
		Analyst:   &analysis.Analyst{Client: clients.bounded, HTTP: webhook.NewClient(), Clock: clock.RealClock{}},
	}, nil
}

// newLibrary returns what loads scripts. Their tests have a webhook engine of their own, which is given canned responses.
func (s *server) newLibrary(
	clients *clients, resources *discovery.Discovery, registry *engines.Registry, metrics *scripts.Metrics,
) (*scripts.Library, error) {
	webhooks, err := engines.NewRegistry(engines.Config{UserAgent: s.process.UserAgent()}, webhook.Definition())
	var artifacts *artifact.Fetcher
	if hosts := s.options.scripts.artifacts; len(hosts) > 0 {
		artifacts = artifact.NewFetcher(hosts, nil)
	}
	return scripts.NewLibrary(scripts.Config{
		Client: clients.typed, Metadata: clients.metadata, Dynamic: clients.watching, Artifacts: artifacts, Engines: registry,
		Root: s.options.scripts.directory,
		Log:  s.log.WithName("scripts"), Metrics: metrics, Tracer: s.tracer,
		Tester: &scripttest.Runner{
			Client: clients.bounded, Find: resources.Find, Namespace: ownNamespace(s.options.namespace), Scripts: registry, Webhooks: webhooks,
		},
	}), err
}

// newPreviewer returns what previews edits of scripts, or nil if each one that loads is to take over.
func (s *server) newPreviewer(schemas *schema.Source, reviewer *access.Reviewer) definition.Previewer {
	if !s.options.scripts.preview {
		return nil
	}
	return hosted.New(ownNamespace(s.options.namespace), schemas, reviewer)
}

// newFailover returns the combiner of scripts and webhooks. Its log hides what schemas mark as a password.
func (s *server) newFailover(schemas *schema.Source) *failover.Combiner {
	combiner := failover.New(s.registry, s.log)
	combiner.Secret = schemas.Secret
	return combiner
}
