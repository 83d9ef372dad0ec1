package parenttest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Namespace returns a Namespace, which may be being deleted.
func Namespace(name string, deleting bool) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace"}}
	o.SetName(name)
	o.SetUID("u-1")
	o.SetResourceVersion("1")
	if deleting {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
		o.SetResourceVersion("2")
	}
	return o
}
