// Package others acts as the other controllers of a cluster in memory: the garbage collector, and those that report in the status of an
// object that it is ready.
package others

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// Others are the other controllers of a cluster.
type Others struct {
	Cluster *memcluster.Cluster
	Client  dynamic.Interface
	Clock   clock.PassiveClock
	// Known are the UIDs of the objects that were ever in the cluster. An owner that is not among them is somewhere else, and not gone. Nil
	// means that there is nothing else.
	Known map[types.UID]bool
	// Changed are the objects that were changed or deleted.
	Changed []*unstructured.Unstructured
}

// MakeReady writes the status of an object that is ready. Nothing is made: a Deployment becomes ready without Pods. Custom resources get
// the condition Ready.
func (o *Others) MakeReady(ctx context.Context, object *unstructured.Unstructured) error {
	gk := object.GroupVersionKind().GroupKind()
	if gk.Group == v1alpha1.GroupName || readiness.InTable(gk) && readiness.Of(object).State == readiness.Ready {
		return nil
	}
	status, ok := readiness.Succeeded(object, o.Clock.Now())
	if !ok {
		return nil
	}
	return o.WriteStatus(ctx, object, status)
}

// WriteStatus writes the status of an object, if its kind has one.
func (o *Others) WriteStatus(ctx context.Context, object *unstructured.Unstructured, status map[string]any) error {
	resource, err := o.Cluster.ResourceOf(object.GroupVersionKind())
	if err != nil || !resource.HasStatus {
		return err
	}
	at, err := o.Cluster.Endpoint(o.Client, object)
	if err != nil {
		return err
	}
	next := object.DeepCopy()
	next.Object["status"] = status
	updated, err := at.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if err == nil && updated.GetResourceVersion() != object.GetResourceVersion() {
		o.Changed = append(o.Changed, updated)
	}
	return err
}

// CollectGarbage deletes the objects whose owners are gone, and ends deletions that wait for dependents.
func (o *Others) CollectGarbage(ctx context.Context) error {
	present, all := map[types.UID]bool{}, o.Cluster.Snapshot()
	for _, object := range all {
		present[object.GetUID()] = true
	}
	if o.Known != nil {
		maps.Copy(o.Known, present)
	}
	gone := func(owner metav1.OwnerReference) bool {
		return !present[owner.UID] && (o.Known == nil || o.Known[owner.UID])
	}
	for _, object := range all {
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

func (o *Others) delete(ctx context.Context, object *unstructured.Unstructured) error {
	at, err := o.Cluster.Endpoint(o.Client, object)
	if err != nil || object.GetDeletionTimestamp() != nil {
		return err
	}
	o.Changed = append(o.Changed, object)
	return at.Delete(ctx, object.GetName(), *metav1.NewPreconditionDeleteOptions(string(object.GetUID())))
}

// endDeletion takes the garbage collector's finalizers off an object that is being deleted, once its dependents
// are gone or have been released. Those that have an owner which is not gone are released in each way.
func (o *Others) endDeletion(ctx context.Context, object *unstructured.Unstructured, gone func(metav1.OwnerReference) bool) error {
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
func (o *Others) dependents(owner types.UID) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, object := range o.Cluster.Snapshot() {
		if slices.ContainsFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }) {
			all = append(all, object)
		}
	}
	return all
}

func (o *Others) release(ctx context.Context, object *unstructured.Unstructured, owner types.UID) error {
	object = object.DeepCopy()
	object.SetOwnerReferences(slices.DeleteFunc(object.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner }))
	return o.update(ctx, object)
}

func (o *Others) update(ctx context.Context, object *unstructured.Unstructured) error {
	at, err := o.Cluster.Endpoint(o.Client, object)
	if err != nil {
		return err
	}
	o.Changed = append(o.Changed, object)
	_, err = at.Update(ctx, object, metav1.UpdateOptions{})
	return err
}
