package simulation

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// RunOthers acts once as the other controllers of a cluster: the garbage collector, and those that report in the status of an object
// that it is ready. isReady selects the objects that become ready; the others stay as they are. It returns the changed objects.
//
// Nothing is made: a Deployment becomes ready without Pods. Custom resources get the condition Ready, but
// parents of the definition do not. Objects with an owner that was never in the cluster are not collected.
func (s *Session) RunOthers(ctx context.Context, isReady func(*unstructured.Unstructured) bool) (Others, error) {
	result := Others{}
	err := s.Edit(ctx, func(client dynamic.Interface) error {
		o := others{session: s, client: client, all: s.cluster.Snapshot()}
		if err := o.collectGarbage(ctx); err != nil {
			return err
		}
		for _, object := range s.cluster.Snapshot() {
			if object.GetDeletionTimestamp() == nil && isReady(object) {
				if err := o.makeReady(ctx, object); err != nil {
					return err
				}
			}
		}
		result = o.result
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

// others are the other controllers of a cluster.
type others struct {
	session *Session
	client  dynamic.Interface
	all     []*unstructured.Unstructured
	result  Others
}

// makeReady writes the status of an object that is ready.
func (o *others) makeReady(ctx context.Context, object *unstructured.Unstructured) error {
	gk := object.GroupVersionKind().GroupKind()
	resource, err := o.session.cluster.ResourceOf(object.GroupVersionKind())
	switch {
	case err != nil:
		return err
	case !resource.HasStatus || gk.Group == v1alpha1.GroupName || resource.Custom && o.isParent(object):
		return nil
	case readiness.InTable(gk) && readiness.Of(object).State == readiness.Ready:
		return nil
	}
	status, ok := readiness.Succeeded(object, o.session.clock.Now())
	if !ok {
		return nil
	}
	at, err := Endpoint(o.session.cluster, o.client, object)
	if err != nil {
		return err
	}
	next := object.DeepCopy()
	next.Object["status"] = status
	updated, err := at.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	switch {
	case apierrors.IsInvalid(err): // The schema has no such conditions.
		o.result.Unready = append(o.result.Unready, err)
		return nil
	case err == nil && updated.GetResourceVersion() != object.GetResourceVersion():
		o.result.Changed = append(o.result.Changed, updated)
	}
	return err
}

// isParent reports whether an object's kind is one of parents, whose status is the definition's.
func (o *others) isParent(object *unstructured.Unstructured) bool {
	if o.session.running == nil {
		return false
	}
	_, err := o.session.running.keyOf(object)
	return err == nil
}

// collectGarbage deletes the objects whose owners are gone, and ends deletions that wait for dependents.
func (o *others) collectGarbage(ctx context.Context) error {
	present := map[types.UID]bool{}
	for _, object := range o.all {
		present[object.GetUID()] = true
	}
	known := o.session.known
	for _, object := range o.all {
		known[object.GetUID()] = true
	}
	gone := func(owner metav1.OwnerReference) bool { return known[owner.UID] && !present[owner.UID] }
	for _, object := range o.all {
		owners := object.GetOwnerReferences()
		if len(owners) > 0 && !slices.ContainsFunc(owners, func(owner metav1.OwnerReference) bool { return !gone(owner) }) {
			if err := o.delete(ctx, object); err != nil {
				return err
			}
		}
		if err := o.endDeletion(ctx, object, gone); err != nil {
			return err
		}
	}
	return nil
}

func (o *others) delete(ctx context.Context, object *unstructured.Unstructured) error {
	at, err := Endpoint(o.session.cluster, o.client, object)
	if err != nil || object.GetDeletionTimestamp() != nil {
		return err
	}
	o.result.Changed = append(o.result.Changed, object)
	return at.Delete(ctx, object.GetName(), metav1.DeleteOptions{})
}

// endDeletion takes the garbage collector's finalizers off an object that is being deleted, once its dependents
// are gone or have been released. Those that have an owner which is not gone are released in each way.
func (o *others) endDeletion(ctx context.Context, object *unstructured.Unstructured, gone func(metav1.OwnerReference) bool) error {
	finalizers := object.GetFinalizers()
	foreground := slices.Contains(finalizers, metav1.FinalizerDeleteDependents)
	orphan := slices.Contains(finalizers, metav1.FinalizerOrphanDependents)
	if object.GetDeletionTimestamp() == nil || !foreground && !orphan {
		return nil
	}
	dependents := o.dependents(object.GetUID())
	for _, dependent := range dependents {
		end := o.delete
		other := func(owner metav1.OwnerReference) bool { return owner.UID != object.GetUID() && !gone(owner) }
		if orphan || slices.ContainsFunc(dependent.GetOwnerReferences(), other) {
			end = func(ctx context.Context, dependent *unstructured.Unstructured) error {
				return o.release(ctx, dependent, object.GetUID())
			}
		}
		if err := end(ctx, dependent); err != nil {
			return err
		}
	}
	if foreground && len(dependents) > 0 {
		return nil // It goes after them, in a later call.
	}
	next := object.DeepCopy()
	next.SetFinalizers(slices.DeleteFunc(finalizers, func(name string) bool {
		return name == metav1.FinalizerDeleteDependents || name == metav1.FinalizerOrphanDependents
	}))
	return o.update(ctx, next)
}

// dependents returns the objects that an object owns.
func (o *others) dependents(owner types.UID) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range o.session.cluster.Snapshot() {
		if slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }) {
			all = append(all, object)
		}
	}
	return all
}

func (o *others) release(ctx context.Context, object *unstructured.Unstructured, owner types.UID) error {
	object = object.DeepCopy()
	object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }))
	return o.update(ctx, object)
}

func (o *others) update(ctx context.Context, object *unstructured.Unstructured) error {
	at, err := Endpoint(o.session.cluster, o.client, object)
	if err != nil {
		return err
	}
	o.result.Changed = append(o.result.Changed, object)
	_, err = at.Update(ctx, object, metav1.UpdateOptions{})
	return err
}
