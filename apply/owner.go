package apply

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// adopted returns the owner references of object with owner as its controller.
func adopted(object *unstructured.Unstructured, owner metav1.OwnerReference) []any {
	return append(released(object, owner.UID), map[string]any{
		"apiVersion":         owner.APIVersion,
		"kind":               owner.Kind,
		"name":               owner.Name,
		"uid":                string(owner.UID),
		"controller":         true,
		"blockOwnerDeletion": true,
	})
}

// released returns the owner references of object but for the one with uid.
func released(object *unstructured.Unstructured, uid types.UID) []any {
	references, _ := jsonvalue.ObjectIn(object.Object, "metadata")["ownerReferences"].([]any)
	others := make([]any, 0, len(references)+1)
	for _, r := range references {
		if r, ok := r.(map[string]any); ok && r["uid"] == string(uid) {
			continue
		}
		others = append(others, r)
	}
	return others
}

// ownedBy returns the owner references of desired that set no controller, and owner.
func ownedBy(desired *unstructured.Unstructured, owner metav1.OwnerReference) []any {
	var references []any
	for _, r := range adopted(desired, owner) {
		if r, ok := r.(map[string]any); ok && (r["uid"] == string(owner.UID) || r["controller"] != true) {
			references = append(references, r)
		}
	}
	return references
}
