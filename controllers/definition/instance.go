package definition

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// tellAfter is how long after a parent came or went, or a script began to rest, the
// definition's status is brought up to date, so that a thousand of them cost one write.
const statusDebounce = time.Second

// instance is one plan, built: caches open, hooks loading, ready to run.
type instance struct {
	plan       *Plan
	hooks      *hooks
	reconciler *parent.Reconciler
	queue      *controller.Controller
	lastInputs inputs // that all parents were last synced with
	synced     atomic.Bool
	changed    func()
	log        logr.Logger
}

// inputs are what is not an object and, if it changes, has all parents synced again.
type inputs struct {
	revision string // of the scripts
	rotation int    // of the credentials
	schemas  uint64 // how often those of parents and children have changed
}

// inputs returns what there is at present.
func (i *instance) inputs() inputs {
	return inputs{i.hooks.revision(), i.hooks.rotation(), i.reconciler.SchemaChanges()}
}

// loopName names the control loop of a definition in metrics, as metacontroller
// does (section 3.1 of the specification).
func loopName(key controller.Key) string { return key.Kind.Kind + "-" + key.Name }

// build makes an instance of a plan, which does nothing until it runs. served is the
// revision of its scripts that is to be read back if they don't load, or empty.
func (r *Reconciler) build(p *Plan, served string) (*instance, error) {
	key := controller.Key{Kind: v1alpha1.GroupVersion.WithKind(p.kind), Name: p.name}
	changed := func() { r.queue.Enqueue(key) }
	h, err := r.openHooks(p, served, changed)
	if err != nil {
		return nil, err
	}
	config := p.Config
	config.Programs, config.Timeouts = h.programs, h.timeouts
	if config.ResyncPeriod == 0 || r.config.ResyncPeriod > 0 && r.config.ResyncPeriod < config.ResyncPeriod {
		config.ResyncPeriod = r.config.ResyncPeriod
	}
	config.Changed = func() { r.queue.EnqueueAfter(key, statusDebounce) }
	reconciler, err := parent.New(config, r.config.Environment)
	if err != nil {
		h.close()
		return nil, err
	}
	return &instance{
		plan: p, hooks: h, reconciler: reconciler, changed: changed, log: r.config.Environment.Log,
		queue: controller.New(controller.Config{
			Name: loopName(key), Reconciler: reconciler, Workers: r.config.Workers, Clock: r.config.Environment.Clock,
			Log: r.config.Environment.Log.WithValues("definition", key.String()), Metrics: r.config.Metrics,
		}),
	}, nil
}

// ready says whether the instance can take over.
func (i *instance) ready() bool { return i != nil && i.hooks.loaded() }

// run syncs parents until ctx ends.
func (i *instance) run(ctx context.Context) {
	if err := i.reconciler.Watch(i.queue); err != nil {
		i.log.Error(err, "a cache has stopped, as this process does")
		return
	}
	if !i.reconciler.WaitForSync(ctx) {
		return
	}
	i.synced.Store(true)
	i.changed()
	i.queue.Run(ctx)
}

// unreadable says which of the instance's resources can't be read, or nil.
func (i *instance) readError() error {
	if i.reconciler == nil {
		return nil
	}
	return i.reconciler.Err()
}

// close lets go of everything. The instance must not run, and may be nil.
func (i *instance) close() {
	if i == nil {
		return
	}
	i.queue.Close()
	i.hooks.close()
	i.reconciler.Close()
}
