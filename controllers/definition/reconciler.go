// Package definition turns definitions (CompositeController, DecoratorController,
// MapController) into running controllers: it resolves their resources, loads
// their hooks, starts, replaces and stops them, and reports their state in the status
// of each definition.
package definition

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/definition/consent"
	"github.com/libretto-k8s/libretto/controllers/definition/finalizers"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/schemacheck"
	"github.com/libretto-k8s/libretto/controllers/definition/standby"
	"github.com/libretto-k8s/libretto/controllers/parent/peers"
	"github.com/libretto-k8s/libretto/controllers/parent/statuses"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/runtime/values/identity"
)

// Reconciler reconciles definitions.
type Reconciler struct {
	config  Config
	planner plan.Planner
	hooks   hooks.Config
	// consents is nil unless accounts have to list the definitions that may use them.
	consents *consent.Annotations
	status   *statuses.Writer
	schemas  schemacheck.Checker
	queue    *controller.Controller
	// finalizers is nil in a host that can't list metadata.
	finalizers *finalizers.Record

	// leads is set once this process may write. Before, only caches are filled.
	leads   atomic.Bool
	standby standby.Caches

	// known is set once each definition that there was at the start has been planned. No parent is synced before, by a definition that does
	// not know of another one with the same parents.
	known atomic.Bool

	// watchRights has changes of rights noticed. It may be called more than once.
	watchRights func()
	// rightsChanges counts the changes of rights that were noticed.
	rightsChanges atomic.Int64

	mu     sync.Mutex
	kinds  map[definitions]*informer.Handle // Those that the API server serves.
	states map[controller.Key]*runtimeState
	// workers are the slots of namespaces with definitions.
	workers map[string]chan struct{}
}

// recheckInterval is the time between two reconciles of an unchanged definition. There is no
// event when a resource becomes unreadable, for example.
const recheckInterval = 15 * time.Second

// New returns a Reconciler with its control loop.
func New(config Config) *Reconciler {
	config.Environment.Registry = peers.NewRegistry()
	if config.Environment.Events.Rollouts == nil {
		config.Environment.Events.Rollouts = config.Environment.Events.Rare
	}
	if config.Environment.Pool != nil {
		config.Environment.Pool = config.Environment.Pool.Shard(config.Shard.Range)
	}
	boundEvents(&config.Environment, "", identity.Account{})
	r := &Reconciler{
		config: config,
		planner: plan.Planner{
			Find: config.Discovery.Find, RevisionNamespace: config.Namespace,
			Strategy: config.ApplyStrategy, FieldManager: config.FieldManager, RequireAccount: config.Admission.RequireAccount,
		},
		hooks: hooks.Config{
			Library: config.Library, Engines: config.Engines, Credentials: config.Credentials, Failover: config.Failover,
			Namespace: config.Namespace, Previews: config.Previewer != nil,
		},
		status:      statuses.NewWriter(config.Environment.Client, config.Environment.Schemas, config.Environment.Clock),
		schemas:     schemacheck.Checker{Client: config.Environment.Client, Log: config.Environment.Log},
		watchRights: func() {},

		kinds:  map[definitions]*informer.Handle{},
		states: map[controller.Key]*runtimeState{}, workers: map[string]chan struct{}{},
	}
	if config.Admission.RequireAnnotation {
		r.consents = consent.New(config.Environment.Metadata, config.Environment.Clock)
	}
	if config.Environment.Metadata != nil {
		r.finalizers = finalizers.NewRecord(
			config.Environment.Client, config.Namespace, config.Admission.Target, config.Admission.Namespaces, config.Environment.Clock)
	}
	r.queue = controller.New(controller.Config{
		Name: "definition", Reconciler: r, Workers: 4, Clock: config.Environment.Clock,
		Log: config.Environment.Log, Metrics: config.Metrics,
		Backoff: controller.Backoff{Min: 50 * time.Millisecond, Max: 30 * time.Second},
	})
	return r
}

// Run hosts definitions until ctx ends, as soon as elected is closed: until then it fills their caches. It returns when all of them have
// stopped, and what they had is closed: the process may go on. Series of metrics remain, as others may host the same definitions.
func (r *Reconciler) Run(ctx context.Context, elected <-chan struct{}) {
	ctx = identity.WithAccount(ctx, identity.Account{}) // Instances have accounts of their own.
	if reviewer := r.config.Environment.Access; reviewer != nil && reviewer.Changes != nil {
		r.watchRights = sync.OnceFunc(func() { reviewer.Changes.Listen(ctx, r.rightsChanged) })
	}
	defer r.close()
	defer r.config.Discovery.Listen(r.resourcesChanged)()
	defer r.config.Environment.Schemas.Listen(r.schemasChanged)()
	defer r.config.Discovery.ListenToSchemas(r.enqueueFailedTests)()
	if !r.config.Shard.IsWhole() {
		remove, err := r.config.Shard.Reports.Listen(r.enqueueReported)
		if err != nil {
			r.config.Environment.Log.Error(err, "reports of other shards are not followed, as this process ends")
			return
		}
		defer remove()
	}
	r.resourcesChanged()
	var search sync.WaitGroup
	search.Go(func() {
		select {
		case <-ctx.Done():
			return
		case <-elected:
		}
		r.renewCaches()
		r.leads.Store(true)
		r.schemasChanged()             // It enqueues all.
		if r.config.Shard.Index == 0 { // It looks at the objects of all shards.
			r.finalizers.ReleaseAbandoned(ctx, r.Synced, r.config.Discovery, &r.config.Environment)
		}
	})
	r.queue.Run(ctx)
	r.schemas.Wait()
	r.config.Host.Wait()
	search.Wait()
}

// close closes the caches and the hooks of all definitions. None of them runs any more.
func (r *Reconciler) close() {
	r.mu.Lock()
	kinds, states := r.kinds, r.states
	r.kinds, r.states = nil, nil
	r.mu.Unlock()
	for _, cache := range kinds {
		cache.Close()
	}
	for key, s := range states {
		if s.close(); !r.config.Shard.IsWhole() && !s.shards.follows { // Another process counts them from now on.
			r.config.DefinitionMetrics.Forget(key)
		}
	}
	r.standby.CloseAll()
}

// renewCaches drops what has been read before this process led if it may be old: a leader that was not reached by the API server for as
// long as its lease lasts is often followed by one that was not, either.
func (r *Reconciler) renewCaches() {
	if !r.config.Shard.IsWhole() || !r.config.Environment.Pool.Renew() { // A shard has read nothing before.
		return
	}
	r.config.Environment.Log.Info("objects are listed anew: watches were broken off while this process waited to lead")
	r.standby.CloseAll()
	r.mu.Lock()
	old := r.kinds
	r.kinds = map[definitions]*informer.Handle{}
	r.mu.Unlock()
	r.resourcesChanged()
	for _, cache := range old {
		cache.Close()
	}
}

// openCaches opens the caches of a definition that another process hosts.
func (r *Reconciler) openCaches(key controller.Key, object *unstructured.Unstructured) {
	if object == nil || !r.config.Admission.Target.Matches(labels.Set(object.GetLabels())) {
		r.standby.Close(key)
		return
	}
	if p, refusal := r.planner.Plan(object); refusal == nil {
		r.standby.Open(p, r.config.Environment.In(p.Namespace, p.Config.Account).Pool, r.hooks)
	}
}

// endStandby closes what is open for a definition from before this process led, once its instance has all of that open, and its scripts
// have loaded.
func (r *Reconciler) endStandby(key controller.Key, s *runtimeState, refusal *plan.Refusal) {
	if s.running != nil || refusal != nil {
		r.standby.Close(key)
	}
}

// Reconcile reconciles one definition.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	// 1. Observe the definition and its state.
	object := r.find(key)
	if !r.hosts(key) {
		return controller.Result{}, nil
	}
	if !r.leads.Load() {
		r.openCaches(key, object)
		return controller.Result{}, nil
	}
	if object == nil || !r.config.Admission.Target.Matches(labels.Set(object.GetLabels())) {
		r.standby.Close(key)
		return controller.Result{}, r.remove(ctx, key, object)
	}
	if r.isShared(key) && !r.config.Shard.Reports.HasSynced() {
		return controller.Result{RequeueAfter: time.Second}, nil
	}
	s := r.stateFor(key)
	object = r.gatherReports(key, s, object)
	s.object = object
	s.retain(object, s.status)
	level, levelWarnings := plan.LogLevel(object)
	s.level.Set(level)
	s.setDeletionLimits(object)
	s.setRollout(object, r.config.Environment.Clock.Now())
	// 2. Resolve the spec. A refused spec leaves the running instance alone.
	plan, refusal := r.plan(ctx, object)
	if over := r.checkQuota(object); over != nil {
		plan, refusal = nil, over
	}
	// 3. Build the next instance and start it once it is ready.
	refusal = r.prepareNext(ctx, object, s, plan, refusal)
	r.stopRefused(ctx, key, s)
	r.notePlanned(s)
	review := r.reviewRights(ctx, s)
	s.suspendScripts(refusal)
	r.guardEdit(object, s) // What is approved is so before a pass asks.
	r.assign(object, s)
	r.advance(key, object, s)
	r.endStandby(key, s, refusal)
	r.followSchemas(ctx, key, s)
	r.updatePreviewInputs(object, s)
	s.expire()
	r.guardEdit(object, s)
	retired := r.closeRetiring(ctx, s)
	// 4. Report in the status and by events.
	view := r.newStatusView(s, r.decideRollout(object, s), refusal, levelWarnings)
	if s.shards.follows {
		again, err := r.report(ctx, key, object, s, view)
		return controller.Result{RequeueAfter: variant.Earlier(variant.Earlier(recheckInterval, review), again)}, errors.Join(retired, err)
	}
	if refusal != nil && refusal.Reason == reasonAccountRefused {
		review = variant.Earlier(review, accountRetry)
	}
	s.testsFailed.Store(view.newest.state.TestsFailed())
	after := variant.Earlier(variant.Earlier(view.rollout.After, review), r.sendEvents(object, s, view))
	now := r.config.Environment.Clock.Now()
	status := s.statusOf(object, view)
	r.config.DefinitionMetrics.Set(key, status, view.running.parents)
	if wait := max(s.statusDelay(object, view.isFinal(refusal), now), s.parentsDelay(status, now)); wait > 0 {
		return controller.Result{RequeueAfter: variant.Earlier(wait, after)}, retired
	}
	err := r.writeStatus(ctx, object, s, view)
	if err == nil { // Otherwise the rollout is decided again, perhaps in another way.
		r.sendRolloutEvents(object, s, view)
	}
	return controller.Result{RequeueAfter: variant.Earlier(recheckInterval, after)}, errors.Join(retired, err)
}
