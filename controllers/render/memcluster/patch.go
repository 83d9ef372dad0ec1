package memcluster

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/json"
)

// patch applies an object, or merges a JSON merge patch into one.
func (c *Cluster) patch(t *table, r *request) error {
	if r.patchType == types.ApplyPatchType {
		return c.apply(t, r)
	}
	if r.patchType != types.MergePatchType {
		return apierrors.NewBadRequest(fmt.Sprintf(
			"%s: a cluster in memory serves merge patches and applies, and this is a %s", t.GroupVersionResource.Resource, r.patchType))
	}
	if err := json.Unmarshal(r.patch, &r.body); err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if r.before == nil {
		return apierrors.NewNotFound(t.GroupResource(), r.name)
	}
	merged, _ := mergePatch(r.before.DeepCopy().Object, runtime.DeepCopyJSON(r.body)).(map[string]any)
	return c.update(t, r, &unstructured.Unstructured{Object: merged})
}

// mergePatch applies a JSON merge patch (RFC 7386).
func mergePatch(target, patch any) any {
	fields, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	result, ok := target.(map[string]any)
	if !ok {
		result = map[string]any{}
	}
	for key, value := range fields {
		if value == nil {
			delete(result, key)
		} else {
			result[key] = mergePatch(result[key], value)
		}
	}
	return result
}
