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

// OrphanedBy is the annotation with the UID of the parent that has let go of an object by ActionOrphan.
const OrphanedBy = "libretto.dev/orphaned-by"

// NamespaceOwner returns the owner reference by which an object outlives its parent: the garbage collector deletes nothing that has an
// owner left, whatever the propagation policy of the parent's deletion, and takes the parent's reference off. The namespace is the
// object's own, or kube-system. That both flags are set to false tells the reference from one that others have made.
func NamespaceOwner(namespace *unstructured.Unstructured) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "Namespace", "name": namespace.GetName(), "uid": string(namespace.GetUID()),
		"controller": false, "blockOwnerDeletion": false,
	}
}

// NamespaceOwnerOf returns the reference among the owners of an object, which may be nil, that NamespaceOwner has made, or nil.
func NamespaceOwnerOf(object *unstructured.Unstructured) map[string]any {
	if object == nil {
		return nil
	}
	references, _ := jsonvalue.ObjectIn(object.Object, "metadata")["ownerReferences"].([]any)
	for _, r := range references {
		r, _ := r.(map[string]any)
		if r["kind"] == "Namespace" && r["apiVersion"] == "v1" && r["controller"] == false && r["blockOwnerDeletion"] == false {
			return r
		}
	}
	return nil
}

// outliving returns desired with the reference of observed, which may be nil, that NamespaceOwner has made, if the rule keeps objects from
// being deleted.
func (r Rule) outliving(desired, observed *unstructured.Unstructured) *unstructured.Unstructured {
	if !r.Orphan {
		return desired
	}
	if reference := NamespaceOwnerOf(observed); reference != nil {
		return WithNamespaceOwner(desired, reference)
	}
	return desired
}

// WithNamespaceOwner returns object with a reference that NamespaceOwner has made in the place of one that it has, or without one if the
// reference is nil.
func WithNamespaceOwner(object *unstructured.Unstructured, reference map[string]any) *unstructured.Unstructured {
	had, _ := NamespaceOwnerOf(object)["uid"].(string)
	references := released(object, types.UID(had))
	if reference != nil {
		references = append(references, reference)
	}
	meta := jsonvalue.With(jsonvalue.ObjectIn(object.Object, "metadata"), "ownerReferences", references)
	return &unstructured.Unstructured{Object: jsonvalue.With(object.Object, "metadata", meta)}
}
