package definition

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/definition/rights"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/telemetry/verbosity"
	"github.com/libretto-k8s/libretto/scripts"
)

// statusDebounce delays the update of a definition's status after a change of the number of
// parents or of resting scripts, so that a burst of changes costs one write.
const statusDebounce = time.Second

// instance is a plan with open caches and hooks that load or have loaded.
type instance struct {
	plan       *plan.Plan
	hooks      *hooks.Hooks
	reconciler *parent.Reconciler
	guard      guarded
	// queue is processed by sides. An instance that shares the parents with the one that runs has these, but neither is used.
	queue  *controller.Controller
	router *router
	// passes are those that may use the instance.
	passes atomic.Int32
	// joined is set once the instance syncs parents beside the one that runs, and cancelSync once it waits for its caches for that.
	joined     bool
	cancelSync context.CancelFunc
	lastInputs inputs // of the last sync of all parents
	analysis   analysisRun
	startedAt  time.Time
	synced     atomic.Bool
	// decided is closed once it is known which scripts serve first.
	decided chan struct{}
	changed func()
	log     logr.Logger
	clock   clock.WithTicker
}

// inputs are values other than objects whose change makes all parents sync again.
type inputs struct {
	revision scripts.RevisionID
	rotation int    // of the credentials
	schemas  uint64 // the number of changes of schemas of parents and children
}

// inputs returns the present values.
func (i *instance) inputs() inputs {
	revision := i.hooks.Revision()
	if i.hooks.IsAssigned() { // The parents that change sides are synced.
		revision = ""
	}
	return inputs{revision, i.hooks.Rotation(), i.reconciler.SchemaChanges()}
}

// loopName returns the name of a definition's control loop in metrics, as in metacontroller
// (section 3.1 of the specification).
func loopName(key controller.Key) string {
	return key.Kind.Kind + "-" + strings.TrimPrefix(key.Namespace+"/"+key.Name, "/")
}

// build returns an instance of a plan, which is idle until run is called. Its log has the definition's level.
func (r *Reconciler) build(s *runtimeState, p *plan.Plan, before hooks.Predecessor) (*instance, error) {
	key := p.Key()
	r.config.Environment.Metrics.Begin(key.String())
	r.config.ScriptMetrics.Begin(key.String())
	changed := func() { r.queue.Enqueue(key) }
	var self atomic.Pointer[instance]
	guard, err := r.guardFor(s, p, changed)
	if err != nil {
		return nil, err
	}
	inUse := revisionsInUse{s, &self}
	h, err := r.hooks.Open(p, hooks.Options{
		Predecessor: before, Follows: s.shards.follows, Preview: r.previewFor(s, &self, before), EditID: s.editIDs(guard),
		Retained: inUse.ids, RetainedKnown: inUse.known, Changed: changed,
	})
	if err != nil {
		return nil, err
	}
	config := p.Config
	config.Guard, config.Spec = guard, guard.spec
	config.Programs, config.Revisions.ProgramsOf, config.Timeouts = h.ProgramsFor, h.ProgramsOf, h.Timeouts
	if config.ResyncPeriod == 0 || r.config.ResyncPeriod > 0 && r.config.ResyncPeriod < config.ResyncPeriod {
		config.ResyncPeriod = r.config.ResyncPeriod
	}
	if before.Resumed {
		config.ResumedAt = r.config.Environment.Clock.Now()
	}
	config.Changed = func() { r.queue.EnqueueAfter(key, statusDebounce) }
	env := r.config.Environment.In(p.Namespace, config.Account)
	env.Follows = s.shards.follows
	env.Log = verbosity.Raised(env.Log, &s.level)
	boundEvents(&env, " ("+config.Definition+")", config.Account) // An object may be a parent of several.
	reconciler, err := parent.New(config, env)
	if err != nil {
		h.Close()
		return nil, err
	}
	reconciler.Require(rights.InParents(rights.Of(p, nil, r.config.Namespace)))
	if s.running == nil { // Otherwise the spec that runs tells what the definition writes.
		reconciler.Register()
	}
	router := &router{}
	built := &instance{
		plan: p, hooks: h, reconciler: reconciler, guard: guard, changed: changed, log: env.Log, router: router,
		decided: make(chan struct{}), clock: r.config.Environment.Clock,
		queue: controller.New(controller.Config{
			Name: loopName(key), Reconciler: r.withWorkersOf(p.Namespace, router), Workers: r.config.Workers, Clock: r.config.Environment.Clock,
			Log: env.Log.WithValues("definition", config.Definition), Metrics: r.config.Metrics, FailureDetails: parent.FailureDetails,
		}),
	}
	router.set(split{stable: built})
	self.Store(built)
	h.WebhookPreview.Start(func(ctx context.Context) scripts.Preview { return r.previewWebhooks(ctx, s, built) })
	changed() // A preview may have been asked for already.
	return built, nil
}

// ready reports whether the instance can start.
func (i *instance) ready() bool { return i != nil && i.hooks.Loaded() }

// run syncs parents until ctx ends.
func (i *instance) run(ctx context.Context) {
	queue := i.queue // It may be handed on.
	if err := i.reconciler.Watch(queue); err != nil {
		i.log.Error(err, "a cache has stopped, as this process does")
		return
	}
	if !i.reconciler.WaitForSync(ctx) {
		return
	}
	i.reconciler.RetainParents()
	i.guard.SetInitial(i.guard.edit(string(i.hooks.Revision())))
	i.synced.Store(true)
	i.changed() // A preview may begin, and decided be closed.
	select {
	case <-i.decided:
	case <-i.clock.After(decisionTimeout):
	case <-ctx.Done():
		return
	}
	queue.Run(ctx)
}

// decisionTimeout is how long parents wait until it is decided whether the newest scripts take over from those that the status says have
// served. A process that was killed may have served the newest ones already: what it wrote would be undone, and done again.
const decisionTimeout = 2 * time.Second

// decide lets parents be synced.
func (i *instance) decide() {
	select {
	case <-i.decided:
	default:
		close(i.decided)
	}
}

// readError returns why a resource of the instance can't be read, or nil.
func (i *instance) readError() error {
	if i.reconciler == nil {
		return nil
	}
	return i.reconciler.Err()
}

// close releases all resources. The instance must not be running; it may be nil.
func (i *instance) close() {
	if i == nil {
		return
	}
	if i.cancelSync != nil {
		i.cancelSync()
	}
	i.analysis.end()
	i.queue.Close()
	i.hooks.Close()
	i.reconciler.Close()
}

// revisionsInUse are the revisions of the scripts that the status names, and those by which children of an instance were made. The
// instance does not exist yet: self is set to it.
type revisionsInUse struct {
	state *runtimeState
	self  *atomic.Pointer[instance]
}

// ids returns those that are known.
func (c revisionsInUse) ids() []scripts.RevisionID {
	ids := slices.Clone(c.state.retainedRevisions())
	ofChildren, _ := c.ofChildren()
	for _, id := range ofChildren {
		ids = append(ids, scripts.RevisionID(id))
	}
	return ids
}

// known reports whether all are known.
func (c revisionsInUse) known() bool {
	_, known := c.ofChildren()
	return known
}

func (c revisionsInUse) ofChildren() ([]string, bool) {
	own := c.self.Load()
	if own == nil {
		return nil, false
	}
	ids, known := own.reconciler.ScriptRevisions()
	if elsewhere := c.state.shards.scripts.Load(); elsewhere != nil {
		ids, known = slices.Concat(ids, elsewhere.ids), known && elsewhere.known
	}
	return ids, known
}

// followSchemas tells the scripts of instances what their tests depend on besides the text, which is the CustomResourceDefinitions, and
// checks those that serve if these have changed.
func (r *Reconciler) followSchemas(ctx context.Context, key controller.Key, s *runtimeState) {
	for _, i := range s.all() {
		if i == nil || i.hooks.Tree == nil {
			continue
		}
		versions := r.crdVersions(i.plan)
		if i.hooks.Tree.SetTestInputs(versions); i == s.running {
			stored := v1alpha1.StoredStatus(s.object).Conditions
			r.schemas.Check(ctx, &s.standing.schemas, i.plan, i.hooks.Tree.Current(), versions, stored, func() { r.queue.Enqueue(key) })
		}
	}
}

// crdVersions returns what changes with each change of the CustomResourceDefinitions of a plan's resources.
func (r *Reconciler) crdVersions(p *plan.Plan) string {
	versions := []string{"CustomResourceDefinitions"}
	for _, resource := range p.Resources() {
		versions = append(versions, r.config.Discovery.DefinitionVersion(resource.GroupResource()))
	}
	return strings.Join(versions, " ")
}
