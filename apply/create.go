package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// newObject returns what is sent to create desired. A status is sent as it was
// given: kinds without the subresource keep it.
func newObject(desired *unstructured.Unstructured, owner metav1.OwnerReference) (*unstructured.Unstructured, error) {
	want := managed(desired.Object)
	out, err := remember(want, want)
	if err != nil {
		return nil, err
	}
	out = with(out, "metadata", with(objectIn(out, "metadata"), "ownerReferences", adopted(desired, owner)))
	if status := desired.Object["status"]; status != nil {
		out["status"] = status
	}
	return &unstructured.Unstructured{Object: out}, nil
}
