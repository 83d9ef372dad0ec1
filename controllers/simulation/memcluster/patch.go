package memcluster

import (
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
	"github.com/libretto-k8s/libretto/runtime/values/objectjson"
)

// patch applies an object, or merges a patch into one.
func (c *Cluster) patch(t *table, r *request) error {
	if r.patchType == types.ApplyPatchType {
		return c.apply(t, r)
	}
	if r.patchType == types.JSONPatchType {
		return c.patchJSON(t, r)
	}
	if r.patchType != types.MergePatchType && r.patchType != types.StrategicMergePatchType {
		return apierrors.NewBadRequest(fmt.Sprintf("%s: the type of the patch is unknown: %s", t.GroupVersionResource.Resource, r.patchType))
	}
	if err := json.Unmarshal(r.patch, &r.body); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if r.before == nil {
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	}
	if r.patchType == types.StrategicMergePatchType {
		return c.patchStrategic(t, r)
	}
	merged := jsonvalue.MergePatch(r.before.Object, runtime.DeepCopyJSON(r.body))
	return c.update(t, r, &unstructured.Unstructured{Object: merged})
}

// patchStrategic merges a strategic merge patch into an object of a type of client-go, whose tags tell how.
func (c *Cluster) patchStrategic(t *table, r *request) error {
	typed, err := scheme.Scheme.New(t.Kind)
	if err != nil {
		return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "",
			"the body of the request was in an unknown format - accepted media types include: application/json-patch+json, "+
				"application/merge-patch+json, application/apply-patch+yaml", 0, false)
	}
	patch := strategicpatch.JSONMap(runtime.DeepCopyJSON(r.body))
	merged, err := strategicpatch.StrategicMergeMapPatch(r.before.DeepCopy().Object, patch, typed)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return c.update(t, r, &unstructured.Unstructured{Object: merged})
}

// patchJSON makes the operations of a JSON patch (RFC 6902) on an object. Like the API server's, the error that they do not fit
// has no cause.
func (c *Cluster) patchJSON(t *table, r *request) error {
	operations, err := jsonpatch.DecodePatch(r.patch)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if r.before == nil {
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	}
	text, err := objectjson.Marshal(r.before.Object)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	if text, err = operations.Apply(text); err != nil {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	patched := map[string]any{}
	if err := json.Unmarshal(text, &patched); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	return c.update(t, r, &unstructured.Unstructured{Object: patched})
}
