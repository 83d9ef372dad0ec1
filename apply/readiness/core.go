package readiness

import (
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

func checkPod(o object) Status {
	switch phase := o.text("status", "phase"); phase {
	case "Succeeded":
		return ready
	case "Failed":
		return Status{Failed, "phase is Failed: " + o.text("status", "message")}
	case "Running":
		return condition("Ready")(o)
	default:
		if reason, is := o.condition("PodScheduled"); is == "False" {
			return Status{InProgress, reason}
		}
		return Status{InProgress, fmt.Sprintf("phase is %q", phase)}
	}
}

// podStatus is that of a Pod that runs, or has run if it need not run for ever.
func podStatus(o object, now string) map[string]any {
	status := o.status()
	policy := o.text("spec", "restartPolicy")
	ends := policy == "OnFailure" || policy == "Never"
	status["phase"] = "Running"
	if ends {
		status["phase"] = "Succeeded"
	}
	if status["startTime"] == nil {
		status["startTime"] = now
		status["podIP"], status["podIPs"] = "10.0.0.1", []any{map[string]any{"ip": "10.0.0.1"}}
		status["hostIP"], status["hostIPs"] = "10.0.1.1", []any{map[string]any{"ip": "10.0.1.1"}}
	}
	since, _ := status["startTime"].(string)
	if generation := o.GetGeneration(); generation > 0 {
		status["observedGeneration"] = generation
	}
	for _, c := range podConditions {
		if ends && c.whileRunning {
			setCondition(status, c.name, "False", "PodCompleted", now)
		} else {
			setCondition(status, c.name, "True", "", now)
		}
	}
	status["containerStatuses"] = containerStatuses(o, "containers", ends, since)
	if inits := containerStatuses(o, "initContainers", true, since); len(inits) > 0 {
		status["initContainerStatuses"] = inits
	}
	if status["qosClass"] == nil {
		status["qosClass"] = "BestEffort"
	}
	return status
}

// podConditions are the conditions of a Pod that is ready. Some are false once it has ended.
var podConditions = []struct {
	name         string
	whileRunning bool
}{{"PodReadyToStartContainers", true}, {"Initialized", false}, {"Ready", true}, {"ContainersReady", true}, {"PodScheduled", false}}

// containerStatuses returns the status of containers that run since a time, or have ended.
func containerStatuses(o object, field string, ended bool, since string) []any {
	spec, _ := o.Object["spec"].(map[string]any)
	containers, _ := spec[field].([]any)
	list := make([]any, 0, len(containers))
	for _, item := range containers {
		container, _ := item.(map[string]any)
		image, _ := container["image"].(string)
		state := map[string]any{"running": map[string]any{"startedAt": since}}
		if ended {
			state = map[string]any{"terminated": map[string]any{
				"exitCode": int64(0), "reason": "Completed", "startedAt": since, "finishedAt": since,
			}}
		}
		list = append(list, map[string]any{
			"name": container["name"], "image": image, "imageID": image, "ready": !ended || field == "initContainers", "started": !ended,
			"restartCount": int64(0), "state": state, "lastState": map[string]any{},
		})
	}
	return list
}

func claimStatus(o object, _ string) map[string]any {
	status := o.status()
	status["phase"] = "Bound"
	spec, _ := o.Object["spec"].(map[string]any)
	if modes := spec["accessModes"]; modes != nil {
		status["accessModes"] = runtime.DeepCopyJSONValue(modes)
	}
	resources, _ := spec["resources"].(map[string]any)
	if requests := resources["requests"]; requests != nil {
		status["capacity"] = runtime.DeepCopyJSONValue(requests)
	}
	return status
}

func checkService(o object) Status {
	if o.text("spec", "type") != "LoadBalancer" {
		return ready
	}
	balancer, _ := o.status()["loadBalancer"].(map[string]any)
	if ingress, _ := balancer["ingress"].([]any); len(ingress) == 0 {
		return Status{InProgress, "the load balancer has no address"}
	}
	return ready
}

func serviceStatus(o object, _ string) map[string]any {
	status := o.status()
	if o.text("spec", "type") == "LoadBalancer" && checkService(o) != ready {
		status["loadBalancer"] = map[string]any{"ingress": []any{map[string]any{"ip": "192.0.2.1", "ipMode": "VIP"}}}
	}
	return status
}

func checkDisruptionBudget(o object) Status {
	return counted(count{"healthy", o.number("status", "currentHealthy"), o.number("status", "desiredHealthy")})
}

func disruptionBudgetStatus(o object, now string) map[string]any {
	status := o.status()
	status["observedGeneration"] = o.GetGeneration()
	for _, name := range []string{"currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"} {
		status[name] = int64(0)
	}
	if len(o.conditions()) == 0 {
		status["conditions"] = []any{map[string]any{
			"type": "DisruptionAllowed", "status": "False", "reason": "InsufficientPods", "message": "",
			"lastTransitionTime": now, "observedGeneration": o.GetGeneration(),
		}}
	}
	return status
}

func checkDefinition(o object) Status {
	if reason, is := o.condition("NamesAccepted"); is == "False" {
		return Status{Failed, reason}
	}
	return condition("Established")(o)
}

func definitionStatus(o object, now string) map[string]any {
	status := o.status()
	if checkDefinition(o) != ready {
		status["conditions"] = []any{
			map[string]any{
				"type": "NamesAccepted", "status": "True", "reason": "NoConflicts", "message": "no conflicts found",
				"lastTransitionTime": now,
			},
			map[string]any{
				"type": "Established", "status": "True", "reason": "InitialNamesAccepted",
				"message": "the initial names have been accepted", "lastTransitionTime": now,
			},
		}
	}
	return status
}
