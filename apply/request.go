package apply

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// request sends the request that a change is, and what has to come before it.
func (e *execution) request(ctx context.Context, c Change) (*unstructured.Unstructured, error) {
	r := e.resource(c)
	switch {
	case c.ServerSide != nil:
		return e.applied(ctx, r, c)
	case c.Action == ActionUpdate:
		return e.update(ctx, r, c)
	}
	switch c.Action {
	case ActionCreate:
		return r.Create(ctx, c.Object, metav1.CreateOptions{FieldManager: e.options.FieldManager})
	case ActionAdopt:
		return e.patch(ctx, r, c, adopted(c.Observed, c.Owner), nil)
	case ActionRelease:
		object, err := e.patch(ctx, r, c, released(c.Observed, c.Owner.UID), nil)
		return object, unlessGone(err)
	case ActionOrphan:
		object, err := e.patch(ctx, r, c, released(c.Observed, c.Owner.UID), string(c.Owner.UID))
		return object, unlessGone(err)
	default:
		if e.options.MayDelete != nil {
			if err := e.options.MayDelete(ctx, c); err != nil {
				return nil, err
			}
		}
		return nil, unlessGone(r.Delete(ctx, c.Key.Name, c.deleteOptions()))
	}
}

// resource returns the endpoint of the change's object.
func (e *execution) resource(c Change) dynamic.ResourceInterface {
	r := e.client.Resource(c.Resource)
	if c.Key.Namespace == "" {
		return r
	}
	return r.Namespace(c.Key.Namespace)
}

// patch replaces the owner references of the object, and the annotation OrphanedBy, which nil takes off, if it is still as it was
// observed. Of an object that was just read for it, the owner references and labels have to be, by which it was claimed.
func (e *execution) patch(
	ctx context.Context, r dynamic.ResourceInterface, c Change, references []any, orphanedBy any,
) (*unstructured.Unstructured, error) {
	if c.renewed {
		object := withAnnotation(c.Observed, OrphanedBy, orphanedBy).Object
		meta := jsonvalue.With(jsonvalue.ObjectIn(object, "metadata"), "ownerReferences", references)
		return e.patchFields(ctx, r, c, jsonvalue.With(object, "metadata", meta), "labels")
	}
	meta := map[string]any{
		"uid":             c.Observed.GetUID(),
		"resourceVersion": c.Observed.GetResourceVersion(),
		"ownerReferences": references,
	}
	if _, has := c.Observed.GetAnnotations()[OrphanedBy]; has || orphanedBy != nil {
		meta["annotations"] = map[string]any{OrphanedBy: orphanedBy}
	}
	body, err := json.Marshal(map[string]any{"metadata": meta})
	if err != nil {
		return nil, err
	}
	return r.Patch(ctx, c.Key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: e.options.FieldManager})
}

// deleteOptions delete this very object and, behind it, what it owns. As long as only the
// cache tells whose it is, it must be as it was observed: in another version it may have
// been given to another owner. Of an object that was just read for it, any version will do.
func (c Change) deleteOptions() metav1.DeleteOptions {
	uid, version, propagation := c.Observed.GetUID(), c.Observed.GetResourceVersion(), metav1.DeletePropagationBackground
	preconditions := &metav1.Preconditions{UID: &uid}
	if !c.renewed {
		preconditions.ResourceVersion = &version
	}
	return metav1.DeleteOptions{Preconditions: preconditions, PropagationPolicy: &propagation}
}

// unlessGone returns err, or errGone if it says that the object is not there.
func unlessGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsGone(err) {
		return errGone
	}
	return err
}

// verb writes an action in the middle of a message.
func verb(a Action) string { return strings.ToLower(string(a)) }
