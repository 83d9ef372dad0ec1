package variant

import (
	"cmp"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
	"github.com/libretto-k8s/libretto/runtime/values/jsonvalue"
)

// parseObject returns an item of a list as an object, or the problem with its path.
func parseObject(item any) (object *unstructured.Unstructured, problem string) {
	fields, ok := item.(map[string]any)
	if !ok {
		return nil, ": must be an object, but is " + jsonvalue.KindOf(item)
	}
	metadata, _ := fields["metadata"].(map[string]any)
	problem = cmp.Or(
		checkName(".apiVersion", fields["apiVersion"]), checkName(".kind", fields["kind"]), checkName(".metadata.name", metadata["name"]),
		checkMetadata(metadata),
	)
	if problem != "" {
		return nil, problem
	}
	return &unstructured.Unstructured{Object: fields}, ""
}

// checkName returns why a value is not a name, or "".
func checkName(path string, value any) string {
	text, ok := value.(string)
	switch {
	case ok && text != "":
		return ""
	case ok || value == nil:
		return path + ": is required"
	default:
		return path + ": must be a string, but is " + jsonvalue.KindOf(value)
	}
}

// checkMetadata returns the first field that accessors of unstructured objects would silently
// read as absent.
func checkMetadata(metadata map[string]any) string {
	if _, ok := metadata["namespace"].(string); !ok && metadata["namespace"] != nil {
		return ".metadata.namespace: must be a string, but is " + jsonvalue.KindOf(metadata["namespace"])
	}
	return cmp.Or(
		checkStringMap("labels", metadata, false), checkStringMap("annotations", metadata, true), checkApproval(metadata),
		checkOwnerReferences(metadata),
	)
}

// checkApproval returns why annotations can't be taken if they approve an edit: the host would write them with its own rights, which are
// more than those of the script's author.
func checkApproval(metadata map[string]any) string {
	annotations, _ := metadata["annotations"].(map[string]any)
	for name := range annotations {
		if Approves(name) && annotations[name] != nil {
			return fmt.Sprintf(".metadata.annotations[%q]: %s", name, NoApproval)
		}
	}
	return ""
}

// Approves reports whether an annotation approves an edit of scripts.
func Approves(name string) bool { return name == v1alpha1.ApprovedRevisionAnnotation }

// NoApproval is why a hook can't write such an annotation.
const NoApproval = "approves an edit of scripts, which no hook may do: leave it out, and let a person write it"

// checkOwnerReferences returns the first problem of the owner references.
func checkOwnerReferences(metadata map[string]any) string {
	const path = ".metadata.ownerReferences"
	references, ok := metadata["ownerReferences"].([]any)
	if !ok && metadata["ownerReferences"] != nil {
		return path + ": must be a list, but is " + jsonvalue.KindOf(metadata["ownerReferences"])
	}
	for i, reference := range references {
		if _, ok := reference.(map[string]any); !ok {
			return fmt.Sprintf("%s[%d]: must be an object, but is %s", path, i, jsonvalue.KindOf(reference))
		}
	}
	return ""
}

// checkController returns the owner reference that makes another object than the parent the
// controller. A child that a hook returns as observed has the parent as its controller.
func checkController(object, parent *unstructured.Unstructured) string {
	metadata, _ := object.Object["metadata"].(map[string]any)
	references, _ := metadata["ownerReferences"].([]any)
	for i, item := range references {
		reference, _ := item.(map[string]any)
		if reference["controller"] == true && reference["uid"] != string(parent.GetUID()) {
			return fmt.Sprintf(".metadata.ownerReferences[%d]: makes %v %v the controller, which the parent %s is: "+
				"leave the reference or its controller: true out",
				i, reference["kind"], reference["name"], parent.GetName())
		}
	}
	return ""
}

// checkStringMap returns the first entry, by key, that is not a string.
func checkStringMap(field string, metadata map[string]any, nullable bool) string {
	entries, ok := metadata[field].(map[string]any)
	if !ok && metadata[field] != nil {
		return ".metadata." + field + ": must be an object, but is " + jsonvalue.KindOf(metadata[field])
	}
	wrong, found := "", false
	for key, value := range entries {
		_, ok := value.(string)
		if ok || value == nil && nullable || found && key > wrong {
			continue
		}
		wrong, found = key, true
	}
	if !found {
		return ""
	}
	return fmt.Sprintf(".metadata.%s[%q]: must be a string, but is %s", field, wrong, jsonvalue.KindOf(entries[wrong]))
}
