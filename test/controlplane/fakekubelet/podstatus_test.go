package fakekubelet

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

func address() string { return "10.244.0.1" }

func bound(change func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		Spec: corev1.PodSpec{
			NodeName:      nodeName,
			RestartPolicy: corev1.RestartPolicyAlways,
			Containers:    []corev1.Container{{Name: "main", Image: "nothing"}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending},
	}
	change(pod)
	return pod
}

func hold(word string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Annotations = map[string]string{HoldAnnotation: word} }
}

func TestNextStep(t *testing.T) {
	zero, thirty := int64(0), int64(30)
	deleted := func(grace *int64) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.DeletionTimestamp = &now
			pod.DeletionGracePeriodSeconds = grace
		}
	}
	cases := map[string]struct {
		change func(*corev1.Pod)
		want   step
		why    string
	}{
		"new":         {func(p *corev1.Pod) { p.Spec.NodeName = "" }, stepBind, "nobody else schedules"},
		"bound":       {func(*corev1.Pod) {}, stepReport, "it is ours"},
		"elsewhere":   {func(p *corev1.Pod) { p.Spec.NodeName = "other" }, stepNone, "there is no such node"},
		"unscheduled": {func(p *corev1.Pod) { p.Spec.NodeName = ""; hold(HoldScheduled)(p) }, stepNone, "held back"},
		"gated": {func(p *corev1.Pod) {
			p.Spec.NodeName = ""
			p.Spec.SchedulingGates = make([]corev1.PodSchedulingGate, 1)
		}, stepNone, "a gate is closed"},
		"failed":       {func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }, stepNone, "a final phase stays"},
		"deleted":      {deleted(&thirty), stepRemove, "there is nothing to wait for"},
		"kept deleted": {func(p *corev1.Pod) { deleted(&thirty)(p); hold(HoldDeleted)(p) }, stepNone, "held back"},
		"removed":      {deleted(&zero), stepNone, "a finalizer keeps it, a second removal would change nothing"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := nextStep(bound(c.change)); got != c.want {
				t.Errorf("%s: want step %d, got %d", c.why, c.want, got)
			}
		})
	}
}

func TestPodStatus(t *testing.T) {
	running := func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.StartTime = &now
	}
	once := func(p *corev1.Pod) {
		running(p)
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	cases := map[string]struct {
		change func(*corev1.Pod)
		phase  corev1.PodPhase
		ready  corev1.ConditionStatus // empty: no condition
		why    string
	}{
		"first":       {func(*corev1.Pod) {}, corev1.PodRunning, "True", "a Pod runs at once"},
		"not running": {hold(HoldRunning), corev1.PodPending, "", "held back"},
		"not ready":   {hold("Bound, " + HoldReady), corev1.PodRunning, "False", "held back, by the second word"},
		"unready":     {func(p *corev1.Pod) { running(p); hold(HoldReady)(p) }, corev1.PodRunning, "False", "readiness can be taken back"},
		"completes":   {once, corev1.PodSucceeded, "False", "it ran, and need not for ever"},
		"runs on":     {func(p *corev1.Pod) { once(p); hold(HoldSucceeded)(p) }, corev1.PodRunning, "True", "held back"},
		"gate": {func(p *corev1.Pod) {
			p.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/x"}}
		}, corev1.PodRunning, "False", "nobody has set the gate's condition"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			status := podStatus(bound(c.change), now, address)
			if status.Phase != c.phase {
				t.Errorf("%s: want phase %s, got %s", c.why, c.phase, status.Phase)
			}
			if got := readiness(status); got != c.ready {
				t.Errorf("%s: want ready %q, got %q", c.why, c.ready, got)
			}
		})
	}
}

func readiness(status corev1.PodStatus) corev1.ConditionStatus {
	for _, condition := range status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status
		}
	}
	return ""
}

// TestPodStatusSettles makes sure that writing a status does not cause the next one.
func TestPodStatusSettles(t *testing.T) {
	pod := bound(func(*corev1.Pod) {})
	pod.Status = podStatus(pod, now, address)
	later := metav1.NewTime(now.Add(time.Hour))
	again := podStatus(pod, later, func() string { return "10.244.9.9" })
	if again.String() != pod.Status.String() {
		t.Errorf("status of a Pod that nothing happened to changed:\n%s\n%s", pod.Status.String(), again.String())
	}
}

func TestClaimIsBindable(t *testing.T) {
	cases := map[string]struct {
		claim corev1.PersistentVolumeClaim
		want  bool
	}{
		"pending": {corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}}, true},
		"bound":   {corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}}, false},
		"held": {corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{HoldAnnotation: HoldBound}},
			Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending},
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := bindable(&c.claim); got != c.want {
				t.Errorf("want %v, got %v", c.want, got)
			}
		})
	}
}
