// Package render runs the real reconciler of a definition on a cluster in
// memory, for commands that work offline and for tests of behaviour: what a pass
// would write is what it writes there.
//
// A Session holds one definition and one cluster. Nothing happens in it by
// itself: a parent is reconciled when it is asked for, and what would have woken
// a controller up is told by Woken.
package render

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/definition"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/controller"
	"github.com/libretto-k8s/libretto/runtime/informer"
)

// Input is what a session begins with.
type Input struct {
	// Definition is a CompositeController, DecoratorController or MapController.
	Definition *unstructured.Unstructured
	// Objects are what is in the cluster, each as it is, with its status. What is
	// missing of their metadata is filled in.
	Objects []*unstructured.Unstructured
	// Resources are those of the cluster beyond the built-in ones.
	Resources []memcluster.Resource
	// Programs answer the definition's hooks.
	Programs map[string]engines.Program
	// Clock gives the time of the cluster and of all passes.
	Clock clock.WithTicker
	// RevisionNamespace is where cluster-scoped parents have their ControllerRevisions.
	RevisionNamespace string
	Log               logr.Logger
}

// RefusedError says why a definition can't be run.
type RefusedError struct {
	// Reason is that of the condition Accepted.
	Reason string
	Err    error
}

// Error gives the reason and what is wrong.
func (e *RefusedError) Error() string { return e.Reason + ": " + e.Err.Error() }

// Unwrap gives what is wrong.
func (e *RefusedError) Unwrap() error { return e.Err }

// Run makes a session. It must be closed. A definition that is not accepted gives
// a *RefusedError.
func Run(ctx context.Context, in Input) (*Session, error) {
	resources := slices.Concat(memcluster.BuiltIn(), in.Resources)
	s := &Session{cluster: memcluster.New(in.Clock, resources...), clock: in.Clock, log: in.Log, revisions: in.RevisionNamespace}
	for _, object := range in.Objects {
		if err := s.cluster.Seed(object); err != nil {
			return nil, err
		}
	}
	if err := s.Define(ctx, in.Definition, in.Programs); err != nil {
		return nil, err
	}
	return s, nil
}

// fieldManager begins the names under which definitions apply on the server's side.
const fieldManager = "libretto"

// Define replaces the definition and its programs, as a host does that starts
// anew: nothing is remembered but what is in the cluster. If the definition is
// refused, the session has none.
func (s *Session) Define(ctx context.Context, object *unstructured.Unstructured, programs map[string]engines.Program) error {
	s.Close()
	planner := definition.Planner{Find: s.cluster.Find, RevisionNamespace: s.revisions, FieldManager: fieldManager}
	plan, refusal := planner.Plan(object)
	if refusal != nil {
		return &RefusedError{Reason: refusal.Reason, Err: refusal.Err}
	}
	running, err := s.start(ctx, plan.Config, programs)
	if err != nil {
		return err
	}
	s.running = running
	s.running.queue.reset()
	return nil
}

// running is one definition at work.
type running struct {
	config     parent.Config
	reconciler *parent.Reconciler
	pool       *informer.Pool
	events     *events
	writes     *writes
	queue      *recordedQueue
	cancel     context.CancelFunc
}

// start makes the reconciler and waits until it knows the cluster. It goes on
// until it is closed, whatever becomes of ctx.
func (s *Session) start(ctx context.Context, config parent.Config, programs map[string]engines.Program) (*running, error) {
	config.Programs = func() parent.Programs { return parent.Programs{ByHook: maps.Clone(programs)} }
	config.Changed = func() {}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	r := &running{config: config, events: &events{}, writes: &writes{}, queue: &recordedQueue{enqueued: map[string]bool{}}, cancel: cancel}
	client := s.cluster.Client(r.writes.add)
	r.pool = informer.NewPool(life, client, s.log)
	r.pool.KeepFields(fieldManager)
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

// environment is that of a process with this definition alone. It writes one
// object at a time and asks one question at a time, so that the order is always the same.
func (s *Session) environment(client dynamic.Interface, r *running) parent.Environment {
	return parent.Environment{
		Client: client, Pool: r.pool, Events: r.events, Clock: s.clock, Log: s.log, Writes: 1, Calls: 1,
	}
}

func (r *running) close() {
	r.reconciler.Close()
	r.cancel()
}

// keyOf gives the key of an object that is a parent of the definition.
func (r *running) keyOf(object *unstructured.Unstructured) (controller.Key, error) {
	for _, rule := range r.config.Parents {
		if rule.Kind.GroupKind() == object.GroupVersionKind().GroupKind() {
			return controller.Key{Kind: rule.Kind, Namespace: object.GetNamespace(), Name: object.GetName()}, nil
		}
	}
	return controller.Key{}, fmt.Errorf("%s: a %s is none of its parents", r.config.Definition, object.GetKind())
}
