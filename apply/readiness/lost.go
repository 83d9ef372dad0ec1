package readiness

import (
	"maps"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// lostConditions and lostCounts are what changes in the status of an object that stops being ready.
var (
	lostConditions = map[any]bool{"Ready": true, "ContainersReady": true, "Available": true}
	lostCounts     = []string{"readyReplicas", "availableReplicas", "numberReady", "numberAvailable"}
)

// Lost returns the status that controllers give to an object that was ready and is not any more, as when its containers fail,
// and whether that changes anything. One that is ready without any of what it would lose, such as a Deployment of no replicas, loses
// nothing.
func Lost(u *unstructured.Unstructured, now time.Time) (status map[string]any, ok bool) {
	given, _ := u.Object["status"].(map[string]any)
	status = runtime.DeepCopyJSON(given)
	conditions, _ := status["conditions"].([]any)
	for _, item := range conditions {
		condition, _ := item.(map[string]any)
		if lostConditions[condition["type"]] && condition["status"] != "False" {
			condition["status"], condition["lastTransitionTime"] = "False", now.UTC().Format(time.RFC3339)
			ok = true
		}
	}
	containers, _ := status["containerStatuses"].([]any)
	for _, item := range containers {
		if container, _ := item.(map[string]any); container["ready"] == true {
			container["ready"], ok = false, true
		}
	}
	for _, name := range lostCounts {
		if n, known := status[name].(int64); known && n > 0 {
			status[name], ok = int64(0), true
		}
	}
	if ok && InTable(u.GroupVersionKind().GroupKind()) {
		after := &unstructured.Unstructured{Object: maps.Clone(u.Object)}
		if after.Object["status"] = status; Of(after).State == Ready {
			return given, false
		}
	}
	return status, ok
}
