package apply

import (
	"context"
	"encoding/json"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// applied sends what is asked for of one object, after taking over what others hold of it.
func (e *execution) applied(ctx context.Context, r dynamic.ResourceInterface, c Change) (*unstructured.Unstructured, error) {
	object := c.Object
	if c.ServerSide.TakeOver != nil {
		taken, err := takeOver(ctx, r, c)
		if err != nil {
			return nil, err
		}
		object = ofVersion(object, taken.GetResourceVersion())
	}
	body, err := objectjson.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	result, err := r.Patch(ctx, c.Key.Name, types.ApplyPatchType, body, metav1.PatchOptions{
		FieldManager: c.ServerSide.Manager, Force: &c.ServerSide.Force,
	})
	if c.Action == ActionCreate && apierrors.IsConflict(err) {
		return nil, apierrors.NewAlreadyExists(c.Resource.GroupResource(), c.Key.Name)
	}
	return result, err
}

// takeOver makes the manager hold what its predecessors hold, and returns the object as it
// is then.
func takeOver(ctx context.Context, r dynamic.ResourceInterface, c Change) (*unstructured.Unstructured, error) {
	live, err := asObserved(ctx, r, c)
	if err != nil {
		return nil, err
	}
	entries, differs := serverside.Inherit(live, c.ServerSide.Manager, c.ServerSide.TakeOver)
	if !differs {
		return live, nil
	}
	body, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": live.GetUID(), "resourceVersion": live.GetResourceVersion(),
		"managedFields": entries,
	}})
	if err != nil {
		return nil, err
	}
	return r.Patch(ctx, c.Key.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: c.ServerSide.Manager})
}

// update replaces the object, or patches it if it was just read for it, where that is allowed and served. What the caches know
// of managedFields must not replace what the API server knows.
func (e *execution) update(ctx context.Context, r dynamic.ResourceInterface, c Change) (*unstructured.Unstructured, error) {
	if c.renewed && c.Leaves == "" {
		object, err := e.patchFields(ctx, r, c, c.Object.Object)
		if !apierrors.IsForbidden(err) && !apierrors.IsMethodNotSupported(err) && !apierrors.IsUnsupportedMediaType(err) {
			return object, err
		}
	}
	var entries any
	if c.Leaves != "" {
		live, err := asObserved(ctx, r, c)
		if err != nil {
			return nil, err
		}
		entries = serverside.HandBack(live, c.Leaves, e.options.FieldManager)
	}
	object := c.Object
	meta := jsonvalue.ObjectIn(object.Object, "metadata")
	if entries != nil || meta["managedFields"] != nil {
		object = &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", jsonvalue.With(meta, "managedFields", entries))}
	}
	return r.Update(ctx, object, metav1.UpdateOptions{FieldManager: e.options.FieldManager})
}

// asObserved reads an object in full, and fails if it is another one, or of another
// version, than the one that the change is about.
func asObserved(ctx context.Context, r dynamic.ResourceInterface, c Change) (*unstructured.Unstructured, error) {
	live, err := r.Get(ctx, c.Key.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if live.GetUID() != c.Observed.GetUID() || live.GetResourceVersion() != c.Object.GetResourceVersion() {
		return nil, apierrors.NewConflict(c.Resource.GroupResource(), c.Key.Name, errChanged)
	}
	return live, nil
}

// ofVersion returns an object that names a version.
func ofVersion(object *unstructured.Unstructured, resourceVersion string) *unstructured.Unstructured {
	meta := jsonvalue.With(jsonvalue.ObjectIn(object.Object, "metadata"), "resourceVersion", resourceVersion)
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", meta)}
}
