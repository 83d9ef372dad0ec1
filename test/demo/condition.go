package main

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/api/v1alpha1"
)

// condition is status and message of an object's condition of a type.
func condition(object *unstructured.Unstructured, kind string) (status, message string) {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, entry := range conditions {
		if c, _ := entry.(map[string]any); c["type"] == kind {
			status, _ = c["status"].(string)
			message, _ = c["message"].(string)
		}
	}
	return status, message
}

// isReady holds for a Pod that is Ready, and not on its way out.
func isReady(pod *unstructured.Unstructured) bool {
	status, _ := condition(pod, "Ready")
	return status == "True" && pod.GetDeletionTimestamp() == nil
}

// scriptRevision is that of a definition's scripts.
func scriptRevision(definition *unstructured.Unstructured) string {
	revision, _, _ := unstructured.NestedString(definition.Object, "status", "scriptRevision")
	return revision
}

// revision is that of the scripts that serve, as the definition tells.
func revision(log sightings) string {
	if definition := log.get(composites, controllerName); definition != nil {
		return scriptRevision(definition)
	}
	return ""
}

func scripts(definition *unstructured.Unstructured) (status, message string) {
	return condition(definition, v1alpha1.ConditionScriptsReady)
}
