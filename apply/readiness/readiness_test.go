package readiness

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal(asJSON, &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

func TestOf(t *testing.T) {
	text, err := os.ReadFile("testdata/cases.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]struct {
		Object map[string]any
		State  State
		Reason string // A part of it.
	}
	if err := yaml.UnmarshalStrict(text, &cases); err != nil || len(cases) < 40 {
		t.Fatalf("%d cases: %v", len(cases), err)
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object, err := json.Marshal(tc.Object)
			if err != nil {
				t.Fatal(err)
			}
			got := Of(parse(t, string(object)))
			if got.State != tc.State || !strings.Contains(got.Reason, tc.Reason) || (tc.Reason == "") != (got.Reason == "") {
				t.Errorf("got %+v, want %s with %q", got, tc.State, tc.Reason)
			}
		})
	}
}

// TestSucceeded checks that objects are ready with the status that Succeeded returns, and not before, and that
// the status stays the same afterwards.
func TestSucceeded(t *testing.T) {
	const template = `selector: {}, template: {spec: {containers: [{name: a, image: b}]}}`
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	covered := map[string]bool{}
	for name, text := range map[string]string{
		"Deployment":  `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 3}, spec: {replicas: 2, ` + template + `}}`,
		"Zero":        `{apiVersion: apps/v1, kind: Deployment, metadata: {generation: 3}, spec: {replicas: 0, ` + template + `}, status: {observedGeneration: 1}}`,
		"ReplicaSet":  `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {generation: 1}, spec: {` + template + `}}`,
		"Controller":  `{apiVersion: v1, kind: ReplicationController, metadata: {generation: 1}, spec: {` + template + `}}`,
		"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 4, ` + template + `}}`,
		"DaemonSet":   `{apiVersion: apps/v1, kind: DaemonSet, metadata: {generation: 1}, spec: {` + template + `}}`,
		"Pod":         `{apiVersion: v1, kind: Pod, metadata: {generation: 1}, spec: {containers: [{name: a, image: b}], initContainers: [{name: c, image: d}]}}`,
		"OncePod":     `{apiVersion: v1, kind: Pod, spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}`,
		"UnreadyPod":  `{apiVersion: v1, kind: Pod, spec: {}, status: {phase: Running, conditions: [{type: Ready, status: "False", reason: x, message: y}]}}`,
		"Job":         `{apiVersion: batch/v1, kind: Job, spec: {completions: 2, ` + template + `}, status: {active: 2}}`,
		"Claim":       `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}`,
		"Volume":      `{apiVersion: v1, kind: PersistentVolume}`,
		"Namespace":   `{apiVersion: v1, kind: Namespace}`,
		"Node":        `{apiVersion: v1, kind: Node}`,
		"Balancer":    `{apiVersion: v1, kind: Service, spec: {type: LoadBalancer}}`,
		"Budget":      `{apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {generation: 1}}`,
		"CRD":         `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition}`,
		"APIService":  `{apiVersion: apiregistration.k8s.io/v1, kind: APIService}`,
		"Custom":      `{apiVersion: example.com/v1, kind: Box, metadata: {generation: 1}, status: {other: 1, conditions: [{type: Ready, status: "False"}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := parse(t, text)
			covered[o.GroupVersionKind().GroupKind().String()] = true
			if before := Of(o); before.State == Ready {
				t.Errorf("it is ready before: %s", text)
			}
			status, ok := Succeeded(o, now)
			if !ok {
				t.Fatal("the kind has no status")
			}
			o.Object["status"] = status
			if got := Of(o); got.State != Ready {
				t.Errorf("got %+v with %v", got, status)
			}
			again, _ := Succeeded(o, now.Add(time.Hour))
			if diff := cmp.Diff(status, again); diff != "" {
				t.Errorf("it changes once more: -first +second:\n%s", diff)
			}
			runtime.DeepCopyJSON(status) // It panics for values that are not of JSON.
		})
	}
	for gk, k := range kinds {
		if k.succeed != nil && !covered[gk.String()] {
			t.Errorf("no case has a %s", gk)
		}
	}
}

// TestRevision checks that the revision of a StatefulSet is that of its template, however often it was scaled.
func TestRevision(t *testing.T) {
	revision := func(spec string, generation int64) any {
		o := parse(t, `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a}, spec: `+spec+`}`)
		o.SetGeneration(generation)
		status, _ := Succeeded(o, time.Unix(0, 0))
		return status["updateRevision"]
	}
	first := revision(`{replicas: 1, template: {spec: {image: a}}}`, 1)
	if scaled := revision(`{replicas: 2, template: {spec: {image: a}}}`, 2); scaled != first {
		t.Errorf("scaled, it has the revision %v, and before %v", scaled, first)
	}
	if other := revision(`{replicas: 2, template: {spec: {image: b}}}`, 2); other == first {
		t.Errorf("another template has the revision %v, too", other)
	}
}

// TestSucceededAfterFailure checks that a Pod and a Job that have failed stay so, and that a Deployment can still become ready.
func TestSucceededAfterFailure(t *testing.T) {
	for text, want := range map[string]bool{
		`{apiVersion: v1, kind: Pod, spec: {restartPolicy: Never}, status: {phase: Failed}}`:                              false,
		`{apiVersion: v1, kind: Pod, spec: {restartPolicy: Never}, status: {phase: Pending}}`:                             true,
		`{apiVersion: batch/v1, kind: Job, spec: {}, status: {conditions: [{type: Failed, status: "True"}]}}`:             false,
		`{apiVersion: batch/v1, kind: Job, spec: {}, status: {failed: 1, conditions: [{type: Failed, status: "False"}]}}`: true,
		`{apiVersion: apps/v1, kind: Deployment, spec: {}, status: {observedGeneration: 0, conditions:
			[{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`: true,
	} {
		if _, got := Succeeded(parse(t, text), time.Now()); got != want {
			t.Errorf("it becomes ready: got %t, want %t: %s", got, want, text)
		}
	}
}

// TestLost checks that an object that stops being ready is not ready, and that its controller makes it ready again.
func TestLost(t *testing.T) {
	for name, text := range map[string]string{
		"Pod":         `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a, image: b}]}}`,
		"Deployment":  `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 2}}`,
		"ReplicaSet":  `{apiVersion: apps/v1, kind: ReplicaSet, metadata: {name: a, generation: 1}, spec: {replicas: 2}}`,
		"StatefulSet": `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: a, generation: 1}, spec: {replicas: 2}}`,
		"DaemonSet":   `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: a, generation: 1}}`,
		"Thing":       `{apiVersion: example.com/v1, kind: Thing, metadata: {name: a}}`,
	} {
		t.Run(name, func(t *testing.T) {
			o := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
				t.Fatal(err)
			}
			now := time.Unix(0, 0)
			if _, ok := Lost(o, now); ok {
				t.Error("it is lost before it is ready")
			}
			o.SetGeneration(1)
			o.Object["status"], _ = Succeeded(o, now)
			status, ok := Lost(o, now)
			if !ok || Of(o).State != Ready {
				t.Fatalf("changes anything: %v, and before it is %v", ok, Of(o))
			}
			if o.Object["status"] = status; Of(o).State == Ready {
				t.Errorf("it is ready with the status %v", status)
			}
			containers, _, _ := unstructured.NestedSlice(status, "containerStatuses")
			for _, container := range containers {
				if container.(map[string]any)["ready"] != false {
					t.Errorf("a container is ready: %v", container)
				}
			}
			if o.Object["status"], _ = Succeeded(o, now); Of(o).State != Ready {
				t.Errorf("it is not ready again: %v", Of(o))
			}
		})
	}
}

// TestLostOfNothing checks that a Deployment of no replicas stays as it is: its controller would not say that it is unavailable, and what is
// ready all the same would never be made ready again.
func TestLostOfNothing(t *testing.T) {
	o := &unstructured.Unstructured{}
	text := `{apiVersion: apps/v1, kind: Deployment, metadata: {name: a, generation: 1}, spec: {replicas: 0}}`
	if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.Object["status"], _ = Succeeded(o, time.Unix(0, 0))
	if status, ok := Lost(o, time.Unix(0, 0)); ok {
		t.Errorf("it has lost something: %v", status)
	}
}
