package simulation

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/controllers/simulation/others"
)

// RunOthers acts once as the other controllers of a cluster: the garbage collector, and those that report in the status of an object
// that it is ready. isReady selects the objects that become ready; the others stay as they are. It returns the changed objects.
//
// Nothing is made: a Deployment becomes ready without Pods. Custom resources get the condition Ready, but
// parents of the definition do not. Objects with an owner that was never in the cluster are not collected.
func (s *Session) RunOthers(ctx context.Context, isReady func(*unstructured.Unstructured) bool) (Others, error) {
	result := Others{}
	err := s.Edit(ctx, func(client dynamic.Interface) error {
		o := &others.Others{Cluster: s.cluster, Client: client, Clock: s.clock, Known: s.known}
		if err := o.CollectGarbage(ctx); err != nil {
			return err
		}
		for _, object := range s.cluster.Snapshot() {
			if object.GetDeletionTimestamp() == nil && isReady(object) {
				if err := s.makeReady(ctx, o, &result, object); err != nil {
					return err
				}
			}
		}
		result.Changed = o.Changed
		return nil
	})
	return result, err
}

// Others is what other controllers did.
type Others struct {
	// Changed are the objects that were changed or deleted.
	Changed []*unstructured.Unstructured
	// Unready are why custom resources could not be made ready: their schema has no such status.
	Unready []error
}

// makeReady writes the status of an object that is ready, unless its status is the definition's.
func (s *Session) makeReady(ctx context.Context, o *others.Others, result *Others, object *unstructured.Unstructured) error {
	resource, err := s.cluster.ResourceOf(object.GroupVersionKind())
	if err != nil || resource.Custom && s.isParent(object) {
		return err
	}
	err = o.MakeReady(ctx, object)
	if apierrors.IsInvalid(err) { // The schema has no such conditions.
		result.Unready = append(result.Unready, err)
		return nil
	}
	return err
}

// isParent reports whether an object's kind is one of parents, whose status is the definition's.
func (s *Session) isParent(object *unstructured.Unstructured) bool {
	if s.running == nil {
		return false
	}
	_, err := s.running.keyOf(object)
	return err == nil
}
