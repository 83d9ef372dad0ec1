package api

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/readiness"
	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const (
	hold     = `annotations: {controlplane.libretto.dev/hold: WHAT}`
	podOf    = `metadata: {labels: {a: NAME}, ` + hold + `}, spec: {terminationGracePeriodSeconds: 0, containers: [{name: a, image: b}]}`
	workload = `selector: {matchLabels: {a: NAME}}, template: {` + podOf + `}`
)

// readyCases are objects of which the control plane's controllers and fake kubelet make something.
var readyCases = map[string]string{
	"deployment": `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 2, ` + workload + `}}`,
	"zero":       `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, ` + workload + `}}`,
	"replicaset": `{apiVersion: apps/v1, kind: ReplicaSet, spec: {replicas: 2, ` + workload + `}}`,
	"stateful":   `{apiVersion: apps/v1, kind: StatefulSet, spec: {serviceName: x, replicas: 2, ` + workload + `}}`,
	"daemon":     `{apiVersion: apps/v1, kind: DaemonSet, spec: {` + workload + `}}`,
	"job": `{apiVersion: batch/v1, kind: Job, spec: {completions: 2, template: {metadata: {` + strings.Replace(hold, "WHAT", "HELD", 1) + `},
		spec: {terminationGracePeriodSeconds: 0, restartPolicy: Never, containers: [{name: a, image: b}]}}}}`,
	"pod":   `{apiVersion: v1, kind: Pod, metadata: {` + hold + `}, spec: {containers: [{name: a, image: b}]}}`,
	"claim": `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {` + strings.Replace(hold, "WHAT", "BOUND", 1) + `}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
}

// TestReadiness checks that the table agrees with real controllers: their objects are ready in the end and not before, and have then
// the fields of status that the table gives to ready objects.
func TestReadiness(t *testing.T) {
	e := env.New(t)
	for _, name := range slices.Sorted(maps.Keys(readyCases)) {
		t.Run(name, func(t *testing.T) {
			for held, words := range map[bool]*strings.Replacer{
				true:  strings.NewReplacer("WHAT", "Ready", "HELD", "Succeeded", "BOUND", "Bound", "NAME", name+"-held"),
				false: strings.NewReplacer("WHAT", "x", "HELD", "x", "BOUND", "x", "NAME", name),
			} {
				object := &unstructured.Unstructured{Object: parse(t, words.Replace(readyCases[name])).(map[string]any)}
				object.SetName(words.Replace("NAME"))
				live := liveObject(t, e, object)
				if held && name != "zero" {
					waitHeld(t, live)
				} else {
					waitReady(t, e, live)
				}
			}
		})
	}
}

// liveObject creates an object and returns a function that reads it.
func liveObject(t *testing.T, e *env.Env, object *unstructured.Unstructured) func() *unstructured.Unstructured {
	t.Helper()
	resource, err := memcluster.New(nil, memcluster.BuiltIn()...).ResourceOf(object.GroupVersionKind())
	env.NoError(t, err)
	at := e.Cluster.Dynamic().Resource(resource.GroupVersionResource).Namespace(e.Namespace)
	_, err = at.Create(t.Context(), object, metav1.CreateOptions{})
	env.NoError(t, err)
	return func() *unstructured.Unstructured {
		live, err := at.Get(t.Context(), object.GetName(), metav1.GetOptions{})
		env.NoError(t, err)
		return live
	}
}

// newer are the fields of status that older versions of Kubernetes don't have, and the minor version that they come with.
var newer = map[string]map[string]int{
	"Deployment": {"terminatingReplicas": 35},
	"ReplicaSet": {"terminatingReplicas": 35},
	"Pod":        {"observedGeneration": 34},
}

func waitReady(t *testing.T, e *env.Env, live func() *unstructured.Unstructured) {
	t.Helper()
	cluster.Eventually(t, 2*env.Timeout, func() error {
		if status := readiness.Of(live()); status.State != readiness.Ready {
			return fmt.Errorf("it is not ready: %+v", status)
		}
		return nil
	})
	object := live()
	given := object.DeepCopy()
	unstructured.RemoveNestedField(given.Object, "status")
	status, _ := readiness.Succeeded(given, time.Now())
	for field, minor := range newer[object.GetKind()] {
		if e.Cluster.Before(t, minor) {
			delete(status, field)
		}
	}
	if diff := cmp.Diff(outline(object.Object["status"]), outline(status)); diff != "" {
		t.Errorf("%s: fields of the status: -controllers +table:\n%s", object.GetKind(), diff)
	}
}

// waitHeld waits until the controllers have seen the object, and then for its status to say that it is not ready.
func waitHeld(t *testing.T, live func() *unstructured.Unstructured) {
	t.Helper()
	cluster.Eventually(t, 2*env.Timeout, func() error {
		object := live()
		status, _ := object.Object["status"].(map[string]any)
		if len(status) == 0 || status["phase"] == "" {
			return errors.New("it has no status yet")
		}
		if got := readiness.Of(object); got.State != readiness.InProgress {
			t.Fatalf("%s is %+v while it is held: %v", object.GetKind(), got, status)
		}
		if status["readyReplicas"] != nil {
			t.Fatalf("it was not held: %v", status)
		}
		return nil
	})
}

// outline returns the names of fields, with the types of conditions.
func outline(value any) []string {
	var names []string
	fields, _ := value.(map[string]any)
	for name, value := range fields {
		names = append(names, name)
		if list, ok := value.([]any); ok && name == "conditions" {
			for _, item := range list {
				c, _ := item.(map[string]any)
				names = append(names, fmt.Sprintf("conditions[%v]: %v %v", c["type"], c["status"], c["reason"]))
			}
		}
	}
	slices.Sort(names)
	return names
}
