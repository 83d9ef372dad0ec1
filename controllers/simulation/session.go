package simulation

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	openapi "github.com/libretto-k8s/libretto/apply/schema"
	"github.com/libretto-k8s/libretto/controllers/definition/plan"
	"github.com/libretto-k8s/libretto/controllers/parent"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/variant"
	"github.com/libretto-k8s/libretto/engines"
	"github.com/libretto-k8s/libretto/runtime/access"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Session is a definition that runs on a cluster in memory. It is not safe for concurrent use.
type Session struct {
	cluster   *memcluster.Cluster
	clock     clock.WithTicker
	log       logr.Logger
	revisions string
	schemas   *openapi.Source
	related   func(context.Context, parent.Selection) ([]*unstructured.Unstructured, error)
	reads     *access.Reviewer
	scripts   *Scripts
	running   *running
	// known are the UIDs of objects that RunOthers has seen.
	known map[types.UID]bool
	// plan and programs are those of the last Start.
	plan     *plan.Plan
	programs map[string]engines.Program
	// processed is what the last barrier waited for.
	processed progress
}

// Result is the result of a pass.
type Result struct {
	// Writes are all write requests, in order.
	Writes []memcluster.Write
	// Parent is the parent after the pass, or nil if it is gone.
	Parent *unstructured.Unstructured
	// Events are those that the pass emitted, in order.
	Events []Event
	// Calls are the calls of hooks, in order. Answers of earlier passes that are used again are not among them.
	Calls []HookCall
	// Desired are the children that the pass aimed at. In a rollout those that wait are as an earlier revision wants them.
	Desired []*unstructured.Unstructured
	// RequeueAfter is the time until the next pass; zero means at the next event.
	RequeueAfter time.Duration
	// Err is the error of the pass. controller.ErrLater means that it is repeated soon, without an event.
	Err error
}

// Reconcile makes one pass over the parent with the kind, namespace and name of object. If the pass starts
// to watch a resource, it is repeated once that is listed. An error means that no pass was made.
func (s *Session) Reconcile(ctx context.Context, object *unstructured.Unstructured) (Result, error) {
	if s.running == nil {
		return Result{}, errors.New("the session has no definition")
	}
	key, err := s.running.keyOf(object)
	if err != nil {
		return Result{}, err
	}
	s.running.events.take()
	s.running.writes.take()
	s.running.calls.take()
	s.running.desired.take()
	var result Result
	for again := true; again; {
		known := s.running.pool.Len()
		after, err := s.running.reconciler.Reconcile(parent.WithObserver(ctx, nil), key) // The cluster's observer has no part in a preview.
		result = Result{RequeueAfter: after.RequeueAfter, Err: err}
		if err := s.barrier(ctx, s.running.pool); err != nil {
			return Result{}, err
		}
		again = errors.Is(err, controller.ErrLater) && s.running.pool.Len() > known
	}
	result.Writes, result.Events, result.Calls = reported(s.running.writes.take()), s.running.events.take(), s.running.calls.take()
	result.Desired = s.running.desired.take()
	for _, write := range result.Writes {
		if s.running.observer != nil {
			s.running.observer.Wrote(s.plan, write)
		}
	}
	result.Parent, err = s.Get(ctx, object)
	s.running.queue.reset()
	return result, err
}

// reported returns writes without a dropped field that a host does not report either.
func reported(writes []memcluster.Write) []memcluster.Write {
	for i := range writes {
		writes[i].Dropped = slices.DeleteFunc(writes[i].Dropped, func(path string) bool {
			return path == "status."+parent.ObservedGenerationField
		})
	}
	return writes
}

// Edit changes the cluster as another client would. It returns when the definition has processed the
// change.
func (s *Session) Edit(ctx context.Context, edit func(dynamic.Interface) error) error {
	if s.running != nil {
		s.running.queue.reset()
	}
	if err := edit(s.cluster.Client(nil)); err != nil || s.running == nil {
		return err
	}
	return s.barrier(ctx, s.running.pool)
}

// Waits returns what the hooks wait for that answered last about a parent.
func (s *Session) Waits(parent *unstructured.Unstructured) []variant.Wait {
	if s.running == nil {
		return nil
	}
	key, err := s.running.keyOf(parent)
	if err != nil {
		return nil
	}
	return s.running.reconciler.Waits(key)
}

// Enqueued returns the keys of the parents that the last edit enqueued, sorted.
func (s *Session) Enqueued() []string {
	if s.running == nil {
		return nil
	}
	return s.running.queue.keys()
}

// Refuse makes the cluster refuse later writes. The result reports whether it has refused any yet.
func (s *Session) Refuse(r memcluster.Refusal) (met func() bool) { return s.cluster.Refuse(r) }

// Get returns an object of the cluster, or nil.
func (s *Session) Get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	endpoint, err := s.cluster.Endpoint(s.cluster.Client(nil), object)
	if err != nil {
		return nil, err
	}
	found, err := endpoint.Get(ctx, object.GetName(), metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return found, err
}

// Cluster returns the session's cluster.
func (s *Session) Cluster() *memcluster.Cluster { return s.cluster }

// Close stops the definition and waits for its goroutines. The cluster stays as it is. It may be called
// more than once.
func (s *Session) Close() {
	if s.running != nil {
		s.running.close()
		s.running = nil
	}
}
