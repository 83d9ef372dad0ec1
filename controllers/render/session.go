package render

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/render/memcluster"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// Session is a definition at work in a cluster in memory. It is used by one
// goroutine.
type Session struct {
	cluster   *memcluster.Cluster
	clock     clock.WithTicker
	log       logr.Logger
	revisions string
	running   *running
}

// Result is what came of a pass.
type Result struct {
	// Writes are all that the API server was asked to write, in order.
	Writes []memcluster.Write
	// Parent is the parent after the pass, or nil if it is gone.
	Parent *unstructured.Unstructured
	// Events are those that the pass told, in order.
	Events []Event
	// RequeueAfter is when the parent wants to be looked at again; zero means at
	// the next event.
	RequeueAfter time.Duration
	// Err is why the pass failed. With controller.ErrLater in it the pass is made
	// again soon and nobody is told.
	Err error
}

// Reconcile makes one pass over the parent that object names by kind, namespace
// and name. A pass that finds a resource it did not know before waits until that
// is listed and begins again. The error says that there was no pass.
func (s *Session) Reconcile(ctx context.Context, object *unstructured.Unstructured) (Result, error) {
	if s.running == nil {
		return Result{}, errors.New("the session has no definition")
	}
	key, err := s.running.keyOf(object)
	if err != nil {
		return Result{}, err
	}
	s.running.events.reset()
	s.running.writes.reset()
	var result Result
	for again := true; again; {
		known := s.running.pool.Len()
		after, err := s.running.reconciler.Reconcile(ctx, key)
		result = Result{RequeueAfter: after.RequeueAfter, Err: err}
		if err := s.barrier(ctx, s.running.pool); err != nil {
			return Result{}, err
		}
		again = errors.Is(err, controller.ErrLater) && s.running.pool.Len() > known
	}
	result.Writes, result.Events = s.running.writes.take(), s.running.events.take()
	result.Parent, err = s.Get(ctx, object)
	s.running.queue.reset()
	return result, err
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

// Enqueued returns the keys of the parents that the last edit enqueued, sorted.
func (s *Session) Enqueued() []string {
	if s.running == nil {
		return nil
	}
	return s.running.queue.keys()
}

// Refuse has the cluster refuse writes to come.
func (s *Session) Refuse(r memcluster.Refusal) { s.cluster.Refuse(r) }

// Get gives an object as it is in the cluster, or nil.
func (s *Session) Get(ctx context.Context, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	endpoint, err := Endpoint(s.cluster, s.cluster.Client(nil), object)
	if err != nil {
		return nil, err
	}
	found, err := endpoint.Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return nil, ignoreNotFound(err)
	}
	return found, nil
}

// Cluster is what the session works on.
func (s *Session) Cluster() *memcluster.Cluster { return s.cluster }

// Close ends the definition's work and returns when nothing of it runs any more.
// The cluster stays as it is. It may be called more than once.
func (s *Session) Close() {
	if s.running != nil {
		s.running.close()
		s.running = nil
	}
}

// Endpoint gives where an object is read and written.
func Endpoint(cluster *memcluster.Cluster, client dynamic.Interface, object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	resource, err := cluster.ResourceOf(object.GroupVersionKind())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", object.GetName(), err)
	}
	if !resource.Namespaced {
		return client.Resource(resource.GroupVersionResource), nil
	}
	return client.Resource(resource.GroupVersionResource).Namespace(object.GetNamespace()), nil
}
