package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// newObject returns what is sent to create desired. A status is sent as it was
// given: kinds without the subresource keep it.
func newObject(desired *unstructured.Unstructured, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	want := merge.Managed(desired.Object)
	out, err := merge.WithAnnotation(want, want)
	if err != nil {
		return nil, err
	}
	out = jsonvalue.With(out, "metadata", jsonvalue.With(jsonvalue.ObjectIn(out, "metadata"), "ownerReferences", adopted(desired, owner)))
	if status := desired.Object["status"]; status != nil {
		out["status"] = status
	}
	return &unstructured.Unstructured{Object: out}, nil
}
