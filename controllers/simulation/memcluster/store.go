package memcluster

import (
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

// create stores a new object.
func (c *Cluster) create(t *table, r *request) error {
	switch {
	case r.name == "":
		return apierrors.NewBadRequest("metadata.name is required")
	case r.before != nil:
		return apierrors.NewAlreadyExists(t.GroupResource(), r.name)
	case r.sent.GetResourceVersion() != "":
		return apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	t.creations[r.key]++
	object, err := c.newObject(t, r)
	if err != nil {
		return err
	}
	if c.managed && r.patchType != types.ApplyPatchType {
		if object, err = c.updated(t, r, t.empty(), object); err != nil {
			return err
		}
	}
	if t.HasStatus { // The defaults of the status come back when the stored object is read.
		if err := t.decode(r, object); err != nil {
			return err
		}
	}
	r.after = c.store(t, watch.Added, object)
	return nil
}

// newObject returns the object that is sent as it is stored, or why it is refused.
func (c *Cluster) newObject(t *table, r *request) (*unstructured.Unstructured, error) {
	object, err := t.decoded(r, r.sent)
	if err != nil {
		return nil, err
	}
	if t.HasStatus {
		delete(object.Object, "status")
	}
	object.SetNamespace(r.key.Namespace)
	object.SetUID(uidFor(t.Kind.Kind, r.key, t.creations[r.key]))
	object.SetCreationTimestamp(metav1.NewTime(c.clock.Now()))
	object.SetDeletionTimestamp(nil)
	object.SetGeneration(0)
	if t.Generation {
		object.SetGeneration(1)
	}
	return object, t.validate(r, object)
}

// CheckCreation returns why the cluster would refuse to create an object if none of its name were there, or nil. It stores nothing.
func (c *Cluster) CheckCreation(object *unstructured.Unstructured) error {
	return c.withTable(object, func(t *table) error {
		_, err := c.newObject(t, &request{verb: Create, name: object.GetName(), key: keyOf(object), sent: object})
		return err
	})
}

// update replaces an object by the one sent, except for the fields that the server sets.
func (c *Cluster) update(t *table, r *request, sent *unstructured.Unstructured) error {
	before := r.before
	switch {
	case before == nil:
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	case sent.GetUID() != "" && sent.GetUID() != before.GetUID():
		return conflict(t, r, "the UID in the precondition is another")
	case sent.GetResourceVersion() != "" && sent.GetResourceVersion() != before.GetResourceVersion():
		return conflict(t, r, "the object has been modified; please apply your changes to the latest version and try again")
	case addsFinalizer(before, sent):
		return apierrors.NewForbidden(t.GroupResource(), r.name, errFinalizer)
	}
	sent, err := t.decoded(r, sent)
	if err != nil {
		return err
	}
	after := updatedObject(t, r, sent)
	if err := t.validate(r, after); err != nil {
		return err
	}
	if r.patchType != types.ApplyPatchType && (c.managed || !r.status) && (isManaged(before) || isManaged(after)) {
		if after, err = c.updated(t, r, before, after); err != nil {
			return err
		}
	}
	if isEqual(before.Object, after.Object) {
		r.after = before
		return nil
	}
	if t.Generation && !r.status && changesSpec(before, after) {
		after.SetGeneration(before.GetGeneration() + 1)
	}
	if after.GetDeletionTimestamp() != nil && !t.isHeldBack(after) {
		r.after = c.drop(t, after)
		return nil
	}
	r.after = c.store(t, watch.Modified, after)
	return nil
}

// updatedObject returns the object after an update. sent is decoded, with metadata of its own.
func updatedObject(t *table, r *request, sent *unstructured.Unstructured) *unstructured.Unstructured {
	if r.status {
		after := withOwnMetadata(r.before)
		set(after, "status", sent.Object["status"])
		return after
	}
	after := sent
	if t.HasStatus {
		set(after, "status", r.before.Object["status"])
	}
	setServerFields(after, r.before)
	return after
}

// remove deletes an object, or sets its deletionTimestamp if it has finalizers.
func (c *Cluster) remove(t *table, r *request) error {
	before := r.before
	if before == nil {
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	}
	if p := r.options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != before.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != before.GetResourceVersion() {
			return conflict(t, r, "the precondition of the deletion does not hold")
		}
	}
	after := withOwnMetadata(before)
	after.SetFinalizers(withPropagation(before.GetFinalizers(), r.options.PropagationPolicy))
	if t.Finalizer != "" && before.GetDeletionTimestamp() == nil {
		after.SetFinalizers(append(after.GetFinalizers(), t.Finalizer))
	}
	if !t.isHeldBack(after) {
		c.drop(t, after)
		return nil
	}
	if before.GetDeletionTimestamp() == nil {
		now, none := metav1.NewTime(c.clock.Now()), int64(0)
		after.SetDeletionTimestamp(&now)
		after.SetDeletionGracePeriodSeconds(&none)
		if t.Generation {
			after.SetGeneration(before.GetGeneration() + 1)
		}
	}
	if !isEqual(before.Object, after.Object) {
		r.after = c.store(t, watch.Modified, after)
	}
	return nil
}

// isHeldBack reports whether an object has finalizers. A Namespace has some in its spec, too.
func (t *table) isHeldBack(object *unstructured.Unstructured) bool {
	if t.GroupVersionResource == namespaces {
		more, _, _ := unstructured.NestedFieldNoCopy(object.Object, "spec", "finalizers")
		if list, _ := more.([]any); len(list) > 0 {
			return true
		}
	}
	return len(object.GetFinalizers()) > 0
}

// withPropagation returns the finalizers of an object that is deleted with a propagation policy.
func withPropagation(finalizers []string, policy *metav1.DeletionPropagation) []string {
	finalizer := map[metav1.DeletionPropagation]string{
		metav1.DeletePropagationForeground: metav1.FinalizerDeleteDependents,
		metav1.DeletePropagationOrphan:     metav1.FinalizerOrphanDependents,
	}
	if policy == nil || finalizer[*policy] == "" || slices.Contains(finalizers, finalizer[*policy]) {
		return finalizers
	}
	return append(slices.Clone(finalizers), finalizer[*policy])
}

// store stores a new version of an object.
func (c *Cluster) store(t *table, kind watch.EventType, object *unstructured.Unstructured) *unstructured.Unstructured {
	if t.dryRun {
		return object
	}
	version := c.next()
	object.SetResourceVersion(strconv.FormatInt(version, 10))
	before := t.objects[keyOf(object)]
	t.objects[keyOf(object)] = object
	c.appendEvent(t, kind, object, before, version)
	return object
}

// drop removes an object.
func (c *Cluster) drop(t *table, object *unstructured.Unstructured) *unstructured.Unstructured {
	if t.dryRun {
		return object
	}
	before := t.objects[keyOf(object)]
	delete(t.objects, keyOf(object))
	version, last := c.next(), withOwnMetadata(object)
	last.SetResourceVersion(strconv.FormatInt(version, 10))
	c.appendEvent(t, watch.Deleted, last, before, version)
	return object
}
