// Package definition turns definitions (CompositeController, DecoratorController,
// MapController) into running controllers: it resolves their resources, loads
// their hooks, starts, replaces and stops them, and says on each definition how
// it fares.
package definition

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/credentials"
	"github.com/libretto-k8s/libretto/controllers/pair"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/host"
	"github.com/libretto-k8s/libretto/runtime/informer"
	"github.com/libretto-k8s/libretto/scripts"
)

// Config is what the definitions of a process are hosted with.
type Config struct {
	Environment parent.Environment
	Discovery   *discovery.Discovery
	Library     *scripts.Library
	Engines     *engines.Registry
	// Credentials may be nil: then webhooks have none.
	Credentials *credentials.Keeper
	// Pairs may be nil: then shadows are not asked.
	Pairs *pair.Pairs
	Host  *host.Host
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

// Reconciler reconciles definitions.
type Reconciler struct {
	config  Config
	planner Planner
	status  *parent.StatusWriter
	queue   *controller.Controller

	mu     sync.Mutex
	kinds  map[string]*informer.Handle // by kind, those that the API server has
	hosted map[controller.Key]*hosted
}

// lookAgain is how often a definition is looked at though nothing happened: that
// a resource can no longer be read, say, is told by no event.
const lookAgain = 15 * time.Second

// hosted is what runs for one definition. It belongs to the one pass over the
// definition that can be under way.
type hosted struct {
	running *instance // syncs parents
	next    *instance // is of a newer spec, and waits for its scripts
	// former have been replaced and still hold parents that are to be let go.
	former []former
	// told is what the last events said, so that each thing is said once.
	told told
	// object is the definition as it was last seen, for events about its end.
	object *unstructured.Unstructured
}

// New makes the reconciler and the control loop that it works in.
func New(config Config) *Reconciler {
	r := &Reconciler{
		config: config,
		planner: Planner{
			Find: config.Discovery.Find, RevisionNamespace: config.Namespace,
			Strategy: config.ApplyStrategy, FieldManager: config.FieldManager,
		},
		status: parent.NewStatusWriter(config.Environment.Client, config.Environment.Clock),
		kinds:  map[string]*informer.Handle{},
		hosted: map[controller.Key]*hosted{},
	}
	r.queue = controller.New(controller.Config{
		Name: "definition", Reconciler: r, Workers: 4, Clock: config.Environment.Clock,
		Log: config.Environment.Log, Metrics: config.Metrics,
		Backoff: controller.Backoff{Min: 50 * time.Millisecond, Max: 30 * time.Second},
	})
	config.Discovery.Listen(r.resourcesChanged)
	return r
}

// Run hosts definitions until ctx ends, and returns when all of them have stopped.
func (r *Reconciler) Run(ctx context.Context) {
	r.resourcesChanged()
	r.queue.Run(ctx)
	r.config.Host.Wait()
}

// Synced says whether the definitions that the API server has are known.
func (r *Reconciler) Synced() error {
	if err := r.config.Discovery.Synced(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.kinds) == 0 {
		return fmt.Errorf("the API server has none of the kinds of %s: kubectl apply -k manifests/crd", v1alpha1.GroupVersion)
	}
	for kind, cache := range r.kinds {
		if !cache.HasSynced() {
			return errors.Join(fmt.Errorf("%s objects are not listed yet", kind), cache.Err())
		}
	}
	return nil
}

// resourcesChanged watches the kinds of definition that are new to the API
// server, and looks at every definition again.
func (r *Reconciler) resourcesChanged() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for kind, resource := range definitionKinds {
		r.follow(kind, resource)
	}
	for kind, cache := range r.kinds {
		for _, object := range cache.List() {
			r.queue.Enqueue(keyOf(kind, object))
		}
	}
}

// follow opens or closes the cache of one kind of definition.
func (r *Reconciler) follow(kind, resource string) {
	found, err := r.config.Discovery.Find(v1alpha1.GroupVersion.String(), resource)
	cache := r.kinds[kind]
	switch {
	case err != nil && cache != nil:
		delete(r.kinds, kind)
		for _, object := range cache.List() {
			r.queue.Enqueue(keyOf(kind, object))
		}
		go cache.Close()
	case err == nil && cache == nil:
		cache = r.config.Environment.Pool.Open(found.GroupVersionResource)
		r.kinds[kind] = cache
		if err := cache.Watch(func(e informer.Event) { r.queue.Enqueue(keyOf(kind, e.Object())) }); err != nil {
			r.config.Environment.Log.Error(err, "definitions are not followed", "kind", kind)
		}
	}
}

// Reconcile makes one pass over one definition.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	// 1. Observe the definition and what runs for it.
	object := r.find(key)
	if object == nil || !r.config.Target.Matches(labels.Set(object.GetLabels())) {
		return controller.Result{}, r.remove(ctx, key, object == nil)
	}
	h := r.hostedFor(key)
	h.object = object
	// 2. Resolve what it asks for. What is refused changes nothing that runs.
	plan, refusal := r.planner.Plan(object)
	// 3. Build what is new and run the newest that is ready.
	if refusal == nil {
		refusal = r.prepare(h, plan)
	} else {
		r.refused(key, h)
	}
	r.advance(key, object, h)
	retired := r.retire(ctx, h)
	// 4. Tell, in the status and by events.
	view := r.view(h, refusal)
	r.tell(object, h, view)
	return controller.Result{RequeueAfter: lookAgain}, errors.Join(retired, r.writeStatus(ctx, object, view))
}

// refused drops what was being prepared for a spec that is now refused, and
// stops what runs if its own resources are no longer there.
func (r *Reconciler) refused(key controller.Key, h *hosted) {
	h.next.close()
	h.next = nil
	if h.running == nil {
		return
	}
	for _, resource := range h.running.plan.resources() {
		if _, err := r.planner.Find(resource.GroupVersion().String(), resource.GroupVersionResource.Resource); err != nil {
			r.stop(key, h)
			return
		}
	}
}

// prepare builds the plan unless it is built already.
func (r *Reconciler) prepare(h *hosted, p *Plan) *Refusal {
	switch {
	case h.next != nil && h.next.plan.equal(p):
		return nil
	case h.next == nil && h.running != nil && h.running.plan.equal(p):
		return nil
	}
	h.next.close()
	h.next = nil
	served := ""
	if h.running == nil {
		served = storedStatus(h.object).ScriptRevision // Else the earlier spec goes on.
	}
	next, err := r.build(p, served)
	if err != nil {
		return &Refusal{reasonInvalid, err}
	}
	h.next = next
	return nil
}

// advance lets the next instance take over once its scripts have loaded and its
// credentials are there, and syncs all parents again when those of the one that
// runs have changed.
func (r *Reconciler) advance(key controller.Key, object *unstructured.Unstructured, h *hosted) {
	if h.next.ready() {
		h.former = append(h.former, replaced(h.running, h.next)...)
		h.running, h.next = h.next, nil
		r.event(object, corev1.EventTypeNormal, "Starting", "Starting controller: "+key.Name)
		h.running.revision, h.running.rotation = h.running.hooks.revision(), h.running.hooks.rotation()
		r.config.ScriptMetrics.Serves(key.String(), h.running.revision)
		r.config.Host.Start(key.String(), h.running.run)
		r.event(object, corev1.EventTypeNormal, "Started", "Started controller: "+key.Name)
		r.config.Environment.Log.Info("controller started", "definition", key.String(), "generation", h.running.plan.generation)
	}
	if h.running == nil {
		return
	}
	if revision := h.running.hooks.revision(); revision != h.running.revision {
		h.running.revision = revision
		r.config.ScriptMetrics.Serves(key.String(), revision)
		h.running.reconciler.Resync(h.running.queue, r.config.ReloadSpread)
	}
	if rotation := h.running.hooks.rotation(); rotation != h.running.rotation {
		h.running.rotation = rotation
		h.running.reconciler.Resync(h.running.queue, r.config.ReloadSpread)
	}
}

// remove stops what runs for a definition that is gone, or is no longer this
// host's. With a definition that is gone its finalizers go too, as nobody else
// would take them off.
func (r *Reconciler) remove(ctx context.Context, key controller.Key, gone bool) error {
	r.mu.Lock()
	h := r.hosted[key]
	r.mu.Unlock()
	if h == nil {
		return nil
	}
	h.next.close()
	h.next = nil
	r.config.Host.Stop(key.String())
	if gone {
		if err := errors.Join(r.retire(ctx, h), r.release(ctx, h)); err != nil {
			return fmt.Errorf("%s: taking its finalizers off: %w", key, err)
		}
	}
	h.dismiss()
	r.stop(key, h)
	r.mu.Lock()
	delete(r.hosted, key)
	r.mu.Unlock()
	r.status.Forget(key)
	r.config.Metrics.Forget(loopName(key))
	r.config.Environment.Metrics.Forget(key.String())
	r.config.Pairs.Forget(key.String())
	r.config.ScriptMetrics.Forget(key.String())
	return nil
}

// stop ends the instance that runs.
func (r *Reconciler) stop(key controller.Key, h *hosted) {
	if h.running == nil {
		return
	}
	r.event(h.object, corev1.EventTypeNormal, "Stopping", "Stopping controller: "+key.Name)
	r.config.Host.Stop(key.String())
	h.running.close()
	h.running = nil
	r.config.ScriptMetrics.Serves(key.String(), "")
	r.event(h.object, corev1.EventTypeNormal, "Stopped", "Stopped controller: "+key.Name)
	r.config.Environment.Log.Info("controller stopped", "definition", key.String())
}

func (r *Reconciler) hostedFor(key controller.Key) *hosted {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.hosted[key]
	if h == nil {
		h = &hosted{}
		r.hosted[key] = h
	}
	return h
}

func (r *Reconciler) find(key controller.Key) *unstructured.Unstructured {
	r.mu.Lock()
	cache := r.kinds[key.Kind.Kind]
	r.mu.Unlock()
	if cache == nil {
		return nil
	}
	return cache.Get("", key.Name)
}

// definitionKinds are the kinds of definition and their plurals.
var definitionKinds = map[string]string{
	v1alpha1.CompositeControllerKind: "compositecontrollers",
	v1alpha1.DecoratorControllerKind: "decoratorcontrollers",
	v1alpha1.MapControllerKind:       "mapcontrollers",
}

func keyOf(kind string, object *unstructured.Unstructured) controller.Key {
	return controller.Key{Kind: v1alpha1.GroupVersion.WithKind(kind), Name: object.GetName()}
}
