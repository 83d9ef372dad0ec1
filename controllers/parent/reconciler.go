// Package parent is the one reconcile core, under every kind of definition: it
// observes a parent and its children, asks the hooks for the desired state,
// applies the difference and writes the status. What makes a composite, a
// decorator and a map differ is a Variant, three pure functions.
package parent

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply"
	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/discovery"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Config is one definition, resolved and ready to run.
type Config struct {
	// Definition names it in logs and errors, as "CompositeController catset".
	Definition string
	Variant    variant.Variant
	Parents    []variant.ParentRule
	Children   []variant.ChildRule
	// Managers are the names under which children are applied on the server's side.
	Managers serverside.Managers
	// Inputs are what a map makes outputs of; other definitions have none.
	Inputs []variant.InputRule
	// Revisions is the resource of ControllerRevisions, or nil if the definition
	// does not roll updates out.
	Revisions *discovery.Resource
	// OwnRevisions picks the definition's own out of the ControllerRevisions of one
	// parent, for which others may roll out children too. Nil means all.
	OwnRevisions func(all []*unstructured.Unstructured) []*unstructured.Unstructured
	// Finalizing is the definition's finalizer.
	Finalizing Finalizing
	// StatusWithObject has the status of parents without a status subresource written with
	// the object. Otherwise they have none.
	StatusWithObject bool
	// Customize is how the customize hook is asked, or nil if there is none.
	Customize *Customize
	// Selector gives what a parent selects: orphans to adopt, or inputs. It is
	// nil if parents select nothing; SelectorIndex then is empty, and else names
	// the index of parents by it. Definitions that select alike share a name.
	Selector      func(parent *unstructured.Unstructured) (labels.Selector, error)
	SelectorIndex string
	// Programs gives the programs in force. One pass asks once, so that it never
	// mixes two revisions.
	Programs func() Programs
	// Timeouts bound one call, by hook.
	Timeouts map[string]time.Duration
	// ResyncPeriod is how often every parent is synced though nothing changed;
	// zero means never.
	ResyncPeriod time.Duration
	// Changed is called when the definition has something new to tell: a parent came or
	// went, or a hook is not called for a while. It must return soon.
	Changed func()
}

// Environment is what all definitions of a process share.
type Environment struct {
	Client dynamic.Interface
	// Metadata lists and patches the objects that are let go of with a definition. It is
	// needed by Release alone.
	Metadata metadata.Interface
	Pool     *informer.Pool
	Events   record.EventRecorder
	// Schemas tells how the API server merges children. If it is nil, or has no answer,
	// the names of fields are gone by.
	Schemas *openapi.Source
	Clock   clock.WithTicker
	Log     logr.Logger
	// Metrics may be nil.
	Metrics *Metrics
	// Registry may be nil: then definitions can't name each other.
	Registry *Registry
	// Writes and Calls bound what is under way for one parent at once.
	Writes, Calls int
}

// Reconciler reconciles the parents of one definition.
type Reconciler struct {
	config           Config
	env              Environment
	parents          []parentSource
	children         []childSource
	inputSources     []inputSource
	revisions        *childSource     // nil if nothing is rolled out
	namespaces       *informer.Handle // nil if no rule looks at their labels
	rules            []apply.Rule
	kinds            []schema.GroupVersionKind // of parents and children
	pendingWrites    *pendingWrites
	passCache        *passCache
	related          *relatedIndex
	detector         *fightDetector
	creationWaiters  *creationWaiters
	namespaceWaiters *namespaceWaiters
	statusLimiter    *statusLimiter
	noopUpdates      *noopUpdates
	comparisons      *apply.Memory
	conflictBackoff  *conflictBackoff
	droppedFields    *droppedFields
	finalizeWaits    *finalizeWaits
	status           *StatusWriter
}

// ownManager is the field manager of what this host writes as a whole.
const ownManager = "libretto"

// FormerManagers are under which children may have been written before they are applied
// on the server's side: by this host as a whole, and by metacontroller.
func FormerManagers() []string { return []string{ownManager, "metacontroller"} }

// New makes the reconciler of a definition and opens the caches that it needs.
// It must be closed.
func New(config Config, env Environment) (*Reconciler, error) {
	r := &Reconciler{
		config: config, env: env, pendingWrites: newPendingWrites(env.Clock), passCache: newPassCache(),
		related: newRelatedIndex(env.Pool), detector: newFightDetector(env.Clock), creationWaiters: newCreationWaiters(), statusLimiter: newStatusLimiter(env.Clock), noopUpdates: newNoopUpdates(), comparisons: apply.NewMemory(), conflictBackoff: newConflictBackoff(env.Clock),
		droppedFields: newDroppedFields(), status: NewStatusWriter(env.Client, env.Schemas, env.Clock), namespaceWaiters: newNamespaceWaiters(env.Pool),
		finalizeWaits: newFinalizeWaits(env.Clock),
	}
	r.openCaches()
	if err := r.indexParents(); err != nil {
		r.Close()
		return nil, fmt.Errorf("%s: %w", config.Definition, err)
	}
	return r, nil
}

// Reconcile makes one pass over one parent.
func (r *Reconciler) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	parent, source := r.find(key)
	if parent == nil {
		r.forget(key)
		return controller.Result{}, nil
	}
	parent, err := r.syncFinalizer(ctx, parent, source)
	result := controller.Result{Retry: retryOf(err, false)}
	if err == nil {
		err = ctx.Err() // What was begun is done; nothing else is begun.
	}
	if err == nil {
		p := &pass{Reconciler: r, key: key, source: source, parent: parent, programs: r.config.Programs(), otherManagers: map[apply.Key]string{}}
		if result, err = p.run(ctx); err == nil {
			result = p.awaitFinalized(result)
		}
		p.await(ctx)
	}
	if errors.Is(err, errGone) {
		return controller.Result{}, nil
	}
	if ctx.Err() == nil {
		r.report(parent, err)
	}
	return result, err
}

// forget drops what is kept of a parent that is gone.
func (r *Reconciler) forget(key controller.Key) {
	r.status.Forget(key)
	r.passCache.forget(key)
	r.statusLimiter.forget(key)
	r.related.forget(key)
	r.namespaceWaiters.forget(key)
	r.finalizeWaits.forget(key)
}
