package parenttest

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply"
)

// Partial returns the outcome of a write that was answered by the metadata of an object.
func Partial(object *unstructured.Unstructured) apply.Result {
	answer := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": object.GetAPIVersion(), "kind": object.GetKind(), "metadata": object.Object["metadata"],
	}}
	return apply.Result{Change: apply.Change{Action: apply.ActionUpdate, Key: apply.KeyOf(object)}, Object: answer, Partial: true}
}
