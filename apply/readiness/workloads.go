package readiness

import (
	"fmt"
	"hash/fnv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// count is a number in a status that must have come to another.
type count struct {
	what       string
	have, want int64
}

// counted returns ready if all counts are reached.
func counted(counts ...count) Status {
	for _, c := range counts {
		if c.have < c.want {
			return Status{InProgress, fmt.Sprintf("%s: %d of %d", c.what, c.have, c.want)}
		}
	}
	return ready
}

// observed returns a check that fails until the kind's controller has seen the object.
func observed(check func(object) Status) func(object) Status {
	return func(o object) Status {
		if _, ok := o.int("status", "observedGeneration"); !ok {
			return Status{InProgress, "its controller has not seen it yet"}
		}
		return check(o)
	}
}

func checkDeployment(o object) Status {
	if o.reasonOf("Progressing") == "ProgressDeadlineExceeded" {
		reason, _ := o.condition("Progressing")
		return Status{Failed, reason}
	}
	want, have := o.replicas(), o.number("status", "replicas")
	updated := o.number("status", "updatedReplicas")
	if s := counted(count{"replicas", have, want}, count{"updated", updated, want}); s != ready {
		return s
	}
	if have > updated {
		return Status{InProgress, fmt.Sprintf("%d old replicas are still there", have-updated)}
	}
	return counted(
		count{"available", o.number("status", "availableReplicas"), want}, count{"ready", o.number("status", "readyReplicas"), want},
	)
}

func deploymentStatus(o object, now string) map[string]any {
	status := o.status()
	setReplicas(o, status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
	status["terminatingReplicas"] = int64(0)
	setCondition(status, "Available", "True", "MinimumReplicasAvailable", now)
	setCondition(status, "Progressing", "True", "NewReplicaSetAvailable", now)
	return status
}

func checkReplicaSet(o object) Status {
	if reason, is := o.condition("ReplicaFailure"); is == "True" {
		return Status{InProgress, reason}
	}
	want, have := o.replicas(), o.number("status", "replicas")
	if have > want {
		return Status{InProgress, fmt.Sprintf("%d replicas are still to be deleted", have-want)}
	}
	return counted(
		count{"labelled", o.number("status", "fullyLabeledReplicas"), want}, count{"available", o.number("status", "availableReplicas"), want},
		count{"ready", o.number("status", "readyReplicas"), want},
	)
}

func replicaSetStatus(o object, _ string) map[string]any {
	status := o.status()
	setReplicas(o, status, "replicas", "fullyLabeledReplicas", "readyReplicas", "availableReplicas")
	if o.GroupVersionKind().Group == "apps" {
		status["terminatingReplicas"] = int64(0)
	}
	return status
}

func checkStatefulSet(o object) Status {
	if o.text("spec", "updateStrategy", "type") == "OnDelete" {
		return ready
	}
	want, have := o.replicas(), o.number("status", "replicas")
	if s := counted(count{"replicas", have, want}, count{"ready", o.number("status", "readyReplicas"), want}); s != ready {
		return s
	}
	if have > want {
		return Status{InProgress, fmt.Sprintf("%d replicas are still to be deleted", have-want)}
	}
	if partition, ok := o.int("spec", "updateStrategy", "rollingUpdate", "partition"); ok && partition > 0 {
		return counted(count{"updated", o.number("status", "updatedReplicas"), want - partition})
	}
	if current, update := o.text("status", "currentRevision"), o.text("status", "updateRevision"); current != update {
		return Status{InProgress, fmt.Sprintf("revision is %s, and is to be %s", current, update)}
	}
	return counted(count{"current", o.number("status", "currentReplicas"), want})
}

func statefulSetStatus(o object, _ string) map[string]any {
	status := o.status()
	setReplicas(o, status, "replicas", "updatedReplicas", "readyReplicas", "availableReplicas", "currentReplicas")
	// Its controller names a revision by the template: one that is only scaled keeps its revision.
	template, _, _ := unstructured.NestedFieldNoCopy(o.Object, "spec", "template")
	hash := fnv.New32a()
	fmt.Fprint(hash, template)
	revision := fmt.Sprintf("%s-%x", o.GetName(), hash.Sum32())
	status["currentRevision"], status["updateRevision"], status["collisionCount"] = revision, revision, int64(0)
	return status
}

// setReplicas sets counts to the replicas that are wanted. Counts of zero are left out, as by the controllers:
// all but status.replicas, and that too of a Deployment.
func setReplicas(o object, status map[string]any, names ...string) {
	status["observedGeneration"] = o.GetGeneration()
	for _, name := range names {
		status[name] = o.replicas()
		if o.replicas() == 0 && (name != "replicas" || o.GetKind() == "Deployment") {
			delete(status, name)
		}
	}
}

func checkDaemonSet(o object) Status {
	want := o.number("status", "desiredNumberScheduled")
	return counted(
		count{"scheduled", o.number("status", "currentNumberScheduled"), want},
		count{"updated", o.number("status", "updatedNumberScheduled"), want},
		count{"available", o.number("status", "numberAvailable"), want}, count{"ready", o.number("status", "numberReady"), want},
	)
}

// daemonSetStatus is that on a cluster with one node.
func daemonSetStatus(o object, _ string) map[string]any {
	status := o.status()
	status["observedGeneration"], status["numberMisscheduled"] = o.GetGeneration(), int64(0)
	for _, name := range []string{
		"currentNumberScheduled", "desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable", "numberReady",
	} {
		status[name] = int64(1)
	}
	return status
}

func checkJob(o object) Status {
	if reason, is := o.condition("Failed"); is == "True" {
		return Status{Failed, reason}
	}
	if _, is := o.condition("Complete"); is == "True" {
		return ready
	}
	succeeded, wanted := o.number("status", "succeeded"), o.wanted("completions")
	return Status{InProgress, fmt.Sprintf("it is not complete: %d of %d have succeeded", succeeded, wanted)}
}

func jobStatus(o object, now string) map[string]any {
	status := o.status()
	if status["completionTime"] == nil {
		status["startTime"], status["completionTime"] = now, now
	}
	status["succeeded"], status["ready"], status["terminating"] = o.wanted("completions"), int64(0), int64(0)
	status["uncountedTerminatedPods"] = map[string]any{}
	delete(status, "active")
	setCondition(status, "SuccessCriteriaMet", "True", "CompletionsReached", now)
	setCondition(status, "Complete", "True", "CompletionsReached", now)
	return status
}
