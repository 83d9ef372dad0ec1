package definition

import (
	"context"
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/rollout"
	"github.com/libretto-k8s/libretto/runtime/controller"
)

// router sends each parent to the instance that syncs it. While an edit of the definition is rolled out there are two, and one queue: so no
// parent is in a pass of both.
type router struct {
	mu sync.RWMutex
	split
}

// split is which instance syncs which parent. It never changes.
type split struct {
	stable *instance
	// updated syncs the parents that an edit of the definition is assigned to. While it is nil, or not ready to, these wait.
	updated    *instance
	assignment rollout.Assignment
}

// of returns the instance that syncs a parent, or nil if the parent waits.
func (s split) of(object *unstructured.Unstructured) *instance {
	if s.assignment.HasUpdated(rollout.MemberOf(object)) {
		return s.updated
	}
	return s.stable
}

// cached returns an object that is a parent of one side or both, or nil.
func (s split) cached(key controller.Key) *unstructured.Unstructured {
	object := s.stable.reconciler.Cached(key)
	if object == nil && s.updated != nil {
		object = s.updated.reconciler.Cached(key)
	}
	return object
}

// set changes the sides. It returns which parents change theirs.
func (s *router) set(next split) (moves func(*unstructured.Unstructured) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.split
	s.split = next
	return func(object *unstructured.Unstructured) bool { return before.of(object) != next.of(object) }
}

// Reconcile syncs a parent. What the other instance knows of it is forgotten, as all of it may be out of date once the parent is its own
// again.
func (s *router) Reconcile(ctx context.Context, key controller.Key) (controller.Result, error) {
	now, side, done := s.enter(key)
	defer done()
	object := now.cached(key)
	for _, other := range []*instance{now.stable, now.updated} {
		if other != nil && other != side && object != nil {
			other.reconciler.ForgetParent(key)
		}
	}
	switch {
	case object == nil && now.updated != nil: // Both forget it.
		_, err := now.updated.reconciler.Reconcile(ctx, key)
		result, own := now.stable.reconciler.Reconcile(ctx, key)
		return result, errors.Join(err, own)
	case side == nil: // It is enqueued once it has a side.
		return controller.Result{}, nil
	}
	return side.reconciler.Reconcile(ctx, key)
}

// enter returns the instance that syncs a parent now, and what to call at the end: neither side is closed before.
func (s *router) enter(key controller.Key) (now split, side *instance, done func()) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	now, side = s.split, s.stable
	if object := now.cached(key); object != nil {
		side = now.of(object)
	}
	now.stable.passes.Add(1)
	if now.updated != nil {
		now.updated.passes.Add(1)
	}
	return now, side, func() {
		now.stable.passes.Add(-1)
		if now.updated != nil {
			now.updated.passes.Add(-1)
		}
	}
}
