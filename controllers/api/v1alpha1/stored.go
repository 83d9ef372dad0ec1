package v1alpha1

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// StoredStatus returns the status of a definition, or an empty one if it is invalid.
func StoredStatus(object *unstructured.Unstructured) DefinitionStatus {
	current := struct {
		Status DefinitionStatus `json:"status"`
	}{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"status": object.Object["status"]}, &current); err != nil {
		return DefinitionStatus{}
	}
	return current.Status
}
