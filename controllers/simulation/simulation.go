// Package simulation runs the real reconciler of a definition on a cluster in memory, for offline commands and
// for tests.
//
// A Session has one definition and one cluster. It has no workers: Reconcile makes one pass over a parent,
// and Enqueued returns the keys that workers would take.
package simulation

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/definition/hooks"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Input is the initial state of a session.
type Input struct {
	// Definition is a CompositeController, DecoratorController or MapController.
	Definition *unstructured.Unstructured
	// Plan is that of Definition. Nil means that the session plans it.
	Plan *plan.Plan
	// Objects are in the cluster from the beginning, with their status. Missing metadata is filled in.
	Objects []*unstructured.Unstructured
	// Stored is set if the objects are as an API server returned them: they are taken as they are, and must not be changed any more.
	Stored bool
	// Existing returns an object of the cluster that Objects are a part of, or nil. It is asked before one is created under that name.
	// Nil means that Objects are all.
	Existing func(memcluster.Resource, types.NamespacedName) (*unstructured.Unstructured, error)
	// Related returns the objects that the customize hook selects, and their Namespaces if it selects by these, if Objects lack them.
	// They must not be changed any more. Nil means that Objects are all.
	Related func(context.Context, parent.Selection) ([]*unstructured.Unstructured, error)
	// Resources are served in addition to the built-in ones.
	Resources []memcluster.Resource
	// Programs answer the definition's hooks.
	Programs map[string]engines.Program
	// Scripts names those that the programs are of, or is nil if there are no others.
	Scripts *Scripts
	// Clock is that of the cluster and of all passes.
	Clock clock.WithTicker
	// RevisionNamespace is the namespace of ControllerRevisions of cluster-scoped parents.
	RevisionNamespace string
	// Schemas tell how lists are merged. Nil means by well-known field names.
	Schemas *openapi.Source
	// Reads tells whether the account of the definition may read what hooks would be shown. Nil means that it may.
	Reads *access.Reviewer
	Log   logr.Logger
}

// Scripts are the revisions of a definition's scripts.
type Scripts struct {
	// Revision is the ID of those that serve.
	Revision string
	// Others returns the programs of another revision, by which children were made, or why they can't be had.
	Others func(revision string) (map[string]engines.Program, error)
}

// RefusedError is the error for a definition that is not accepted.
type RefusedError struct {
	// Reason is the reason of the condition Accepted.
	Reason string
	Err    error
}

// Error returns the reason and the cause.
func (e *RefusedError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Run returns a session, which must be closed. It returns a *RefusedError for a definition that is not
// accepted.
func Run(ctx context.Context, in Input) (*Session, error) {
	resources := slices.Concat(memcluster.BuiltIn(), in.Resources)
	s := &Session{
		cluster: memcluster.New(in.Clock, resources...), clock: in.Clock, log: in.Log, revisions: in.RevisionNamespace, schemas: in.Schemas,
		related: in.Related, scripts: in.Scripts, reads: in.Reads,
	}
	put := s.cluster.Seed
	if in.Stored {
		put = s.cluster.Store
	}
	for _, object := range in.Objects {
		if err := put(object); err != nil {
			return nil, err
		}
	}
	if in.Existing != nil {
		s.cluster.Existing(in.Existing)
	}
	s.known = map[types.UID]bool{}
	for _, object := range s.cluster.Snapshot() {
		s.known[object.GetUID()] = true
	}
	if in.Plan != nil {
		return s, s.Start(ctx, in.Plan, in.Programs)
	}
	if err := s.Define(ctx, in.Definition, in.Programs); err != nil {
		return nil, err
	}
	return s, nil
}

// FieldManager is the prefix of the definitions' field managers.
const FieldManager = "libretto"

// Define replaces the definition and its programs, like a restarted process: only the state in the cluster
// is kept. If the definition is not accepted, the session has none.
func (s *Session) Define(ctx context.Context, object *unstructured.Unstructured, programs map[string]engines.Program) error {
	s.Close()
	planner := plan.Planner{Find: s.cluster.Find, RevisionNamespace: s.revisions, FieldManager: FieldManager}
	plan, refusal := planner.Plan(object)
	if refusal != nil {
		return &RefusedError{Reason: refusal.Reason, Err: refusal.Err}
	}
	return s.Start(ctx, plan, programs)
}

// Start is Define for a definition that is planned.
func (s *Session) Start(ctx context.Context, plan *plan.Plan, programs map[string]engines.Program) error {
	s.Close()
	config := plan.Config
	config.Timeouts = timeouts(plan.Hooks)
	if plan == s.plan { // A process was replaced, and nothing else.
		config.ResumedAt = s.clock.Now()
	}
	running, err := s.start(ctx, config, plan.Namespace, programs)
	if err != nil {
		return err
	}
	s.running, s.plan, s.programs = running, plan, programs
	s.running.queue.reset()
	return nil
}

// timeouts returns those of all hooks.
func timeouts(of []v1alpha1.NamedHook) map[string]time.Duration {
	all := map[string]time.Duration{}
	for _, named := range of {
		all[string(named.Name)] = hooks.CallTimeout(named.Hook)
	}
	return all
}

// running is a running definition.
type running struct {
	config     parent.Config
	reconciler *parent.Reconciler
	pool       *informer.Pool
	events     *eventRecorder
	writes     *recorded[memcluster.Write]
	calls      *recorded[HookCall]
	desired    *recorded[*unstructured.Unstructured]
	queue      *recordedQueue
	observer   Observer // Or nil.
	cancel     context.CancelFunc
}

// start creates the reconciler and waits until its caches are filled. It runs until it is closed, even if
// ctx ends. It knows only what is in namespace, unless that is empty.
func (s *Session) start(
	ctx context.Context, config parent.Config, namespace string, programs map[string]engines.Program,
) (*running, error) {
	calls, desired := &recorded[HookCall]{}, &recorded[*unstructured.Unstructured]{}
	config.Variant = recordedVariant{Variant: config.Variant, desired: desired}
	byHook := recordCalls(programs, calls)
	config.Programs = func(*unstructured.Unstructured) parent.Programs { return parent.Programs{ByHook: maps.Clone(byHook)} }
	s.withRevisions(&config, byHook, calls)
	config.Changed = func() {}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{
		config: config, calls: calls, desired: desired, events: &eventRecorder{}, writes: &recorded[memcluster.Write]{},
		queue: &recordedQueue{enqueued: map[string]bool{}}, observer: observerOf(ctx), cancel: cancel,
	}
	s.withRelated(&config, r, byHook)
	client := s.cluster.Client(r.writes.add)
	r.pool = informer.NewPool(life, s.cluster.Reader(), s.log).In(namespace)
	r.pool.KeepFields(FieldManager)
	reconciler, err := parent.New(config, s.environment(client, r))
	if err != nil {
		cancel()
		return nil, err
	}
	r.reconciler = reconciler
	if err := reconciler.Watch(r.queue); err != nil {
		r.close()
		return nil, err
	}
	if err := s.barrier(ctx, r.pool); err != nil {
		r.close()
		return nil, fmt.Errorf("%s: %w", config.Definition, err)
	}
	return r, nil
}

// withRevisions makes the programs those of their revision, beside others.
func (s *Session) withRevisions(config *parent.Config, byHook map[string]engines.Program, calls *recorded[HookCall]) {
	if s.scripts == nil {
		return
	}
	config.Programs = func(*unstructured.Unstructured) parent.Programs {
		return parent.Programs{Revision: s.scripts.Revision, ByHook: maps.Clone(byHook)}
	}
	config.Revisions.ProgramsOf = func(revision string) (parent.Programs, error) {
		programs, err := s.scripts.Others(revision)
		return parent.Programs{Revision: revision, ByHook: recordCalls(programs, calls)}, err
	}
}

// environment returns that of a process with only this definition. It makes one write and one hook call at
// a time, so that the order is always the same.
func (s *Session) environment(client dynamic.Interface, r *running) parent.Environment {
	return parent.Environment{
		Client: client, Pool: r.pool, Events: parent.Recorders{Rare: r.events}, Schemas: s.schemas, Clock: s.clock, Log: s.log,
		Writes: 1, Calls: 1, Reads: s.reads,
	}
}

func (r *running) close() {
	r.reconciler.Close()
	r.cancel()
}

// keyOf returns the key of a parent. It fails for an object of another kind.
func (r *running) keyOf(object *unstructured.Unstructured) (controller.Key, error) {
	for _, rule := range r.config.Parents {
		if rule.Kind.GroupKind() == object.GroupVersionKind().GroupKind() {
			return controller.Key{Kind: rule.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}, nil
		}
	}
	return controller.Key{}, fmt.Errorf("%s: a %s is none of its parents", r.config.Definition, object.GetKind())
}
