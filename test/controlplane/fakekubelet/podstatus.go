package fakekubelet

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HoldAnnotation, on a Pod or a claim, lists with commas what must not happen to it. Taking a word out lets it happen.
const HoldAnnotation = "controlplane.libretto.dev/hold"

// The words of HoldAnnotation.
const (
	HoldScheduled = "Scheduled" // no node
	HoldRunning   = "Running"   // on a node, and Pending
	HoldReady     = "Ready"     // runs, but is not ready
	HoldSucceeded = "Succeeded" // a Pod that ought to end runs on
	HoldDeleted   = "Deleted"   // stays, being deleted
	HoldBound     = "Bound"     // a claim stays Pending
)

func held(object metav1.Object, word string) bool {
	for entry := range strings.SplitSeq(object.GetAnnotations()[HoldAnnotation], ",") {
		if strings.TrimSpace(entry) == word {
			return true
		}
	}
	return false
}

// step is what is due for a Pod.
type step int

const (
	stepNone step = iota
	stepBind
	stepReport
	stepRemove
)

func nextStep(pod *corev1.Pod) step {
	switch {
	case pod.DeletionTimestamp != nil:
		return deletionStep(pod)
	case pod.Spec.NodeName == "":
		if held(pod, HoldScheduled) || len(pod.Spec.SchedulingGates) > 0 {
			return stepNone
		}
		return stepBind
	case pod.Spec.NodeName != nodeName || ended(pod):
		return stepNone
	}
	return stepReport
}

// deletionStep removes a Pod once. One that somebody's finalizer keeps has its grace period at zero by then.
func deletionStep(pod *corev1.Pod) step {
	grace := pod.DeletionGracePeriodSeconds
	if held(pod, HoldDeleted) || (grace != nil && *grace == 0) {
		return stepNone
	}
	return stepRemove
}

// ended holds for the phases that are final, whoever wrote them: a test may fail a Pod by writing its status.
func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podStatus is the status of a Pod one step further: Pending, Running, and Succeeded for one that need not run for ever.
func podStatus(pod *corev1.Pod, now metav1.Time, nextIP func() string) corev1.PodStatus {
	status := *pod.Status.DeepCopy()
	status.ObservedGeneration = pod.Generation
	if held(pod, HoldRunning) {
		return status
	}
	if status.StartTime == nil {
		status.StartTime = &now
		status.PodIP = nextIP()
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
		status.HostIP = nodeAddress
		status.HostIPs = []corev1.HostIP{{IP: nodeAddress}}
	}
	ends := status.Phase == corev1.PodRunning && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	status.Phase = corev1.PodRunning
	if ends && !held(pod, HoldSucceeded) {
		status.Phase = corev1.PodSucceeded
	}
	running := status.Phase == corev1.PodRunning
	ready := running && !held(pod, HoldReady)
	status.InitContainerStatuses = initContainers(pod, *status.StartTime)
	status.ContainerStatuses = containers(pod, *status.StartTime, running, ready)
	setConditions(pod, &status, now, ready)
	return status
}

// setConditions reports in the order in which a kubelet gets there.
func setConditions(pod *corev1.Pod, status *corev1.PodStatus, now metav1.Time, ready bool) {
	reason := ""
	switch {
	case status.Phase == corev1.PodSucceeded:
		reason = "PodCompleted"
	case !ready:
		reason = "ContainersNotReady"
	}
	set := func(kind corev1.PodConditionType, value bool, reason string) {
		setCondition(status, corev1.PodCondition{
			Type:               kind,
			Status:             conditionStatus(value),
			Reason:             reason,
			ObservedGeneration: pod.Generation,
			LastTransitionTime: now,
		})
	}
	set(corev1.PodReadyToStartContainers, status.Phase == corev1.PodRunning, "")
	set(corev1.PodInitialized, true, "")
	set(corev1.ContainersReady, ready, reason)
	if ready && !gatesPassed(pod) {
		ready, reason = false, "ReadinessGatesNotReady"
	}
	set(corev1.PodReady, ready, reason)
}

// setCondition replaces the condition of the type; the time changes only when the status does.
func setCondition(status *corev1.PodStatus, condition corev1.PodCondition) {
	i := slices.IndexFunc(status.Conditions, func(c corev1.PodCondition) bool { return c.Type == condition.Type })
	if i < 0 {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if status.Conditions[i].Status == condition.Status {
		condition.LastTransitionTime = status.Conditions[i].LastTransitionTime
	}
	status.Conditions[i] = condition
}

func conditionStatus(value bool) corev1.ConditionStatus {
	if value {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

// gatesPassed holds when everybody whose consent the Pod's readiness needs has given it.
func gatesPassed(pod *corev1.Pod) bool {
	for _, gate := range pod.Spec.ReadinessGates {
		passed := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == gate.ConditionType && c.Status == corev1.ConditionTrue
		})
		if !passed {
			return false
		}
	}
	return true
}

func initContainers(pod *corev1.Pod, since metav1.Time) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for _, container := range pod.Spec.InitContainers {
		sidecar := container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways
		list = append(list, containerStatus(pod, container, since, sidecar, true))
	}
	return list
}

func containers(pod *corev1.Pod, since metav1.Time, running, ready bool) []corev1.ContainerStatus {
	var list []corev1.ContainerStatus
	for _, container := range pod.Spec.Containers {
		list = append(list, containerStatus(pod, container, since, running, ready))
	}
	return list
}

// containerStatus is that of a container which runs, or else has ended well.
func containerStatus(pod *corev1.Pod, container corev1.Container, since metav1.Time, running, ready bool) corev1.ContainerStatus {
	status := corev1.ContainerStatus{
		Name:        container.Name,
		Image:       container.Image,
		ImageID:     container.Image,
		ContainerID: "fake://" + string(pod.UID) + "/" + container.Name,
		Ready:       ready,
		Started:     &running,
	}
	if running {
		status.State.Running = &corev1.ContainerStateRunning{StartedAt: since}
	} else {
		status.State.Terminated = &corev1.ContainerStateTerminated{
			Reason:      "Completed",
			StartedAt:   since,
			FinishedAt:  since,
			ContainerID: status.ContainerID,
		}
	}
	return status
}
