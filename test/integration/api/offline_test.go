package api

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
	"github.com/libretto-k8s/libretto/controllers/simulation/validation"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const offlineCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: crates.GROUP}
spec:
  group: GROUP
  scope: Namespaced
  names: {kind: Crate, plural: crates, singular: crate, listKind: CrateList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            x-kubernetes-validations:
            - {rule: "self.size <= 10", message: "a crate holds ten at most"}
            - {rule: "!has(oldSelf.color) || has(self.color) && self.color == oldSelf.color", message: "the color stays"}
            properties:
              size: {type: integer, default: 3, minimum: 0}
              color: {type: string, enum: [red, blue]}
              note: {type: string, nullable: true}
              tags: {type: array, items: {type: string}, x-kubernetes-list-type: set}
              parts:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, count: {type: integer, default: 1}}
              any: {type: object, x-kubernetes-preserve-unknown-fields: true}
              port: {x-kubernetes-int-or-string: true}
              template: {type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}
          status:
            type: object
            default: {phase: New}
            properties: {phase: {type: string, maxLength: 5}, size: {type: integer}}
`

// offlineStep is one write of a case.
type offlineStep struct {
	verb string // create, merge, apply or status
	body string // GROUP is the test's API group.
}

// offlineCases are writes that the real API server and the one in memory must answer alike.
var offlineCases = map[string][]offlineStep{
	"Defaults":       {{"create", crate(`{}`)}},
	"Pruned":         {{"create", crate(`{size: 1, unknown: 1, any: {kept: {deep: 1}}, parts: [{name: a, other: 1}]}`)}},
	"PrunedMetadata": {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x, extra: 1}, spec: {}, top: 1}`}},
	"Null":           {{"create", crate(`{note: null, size: null, color: null}`)}},
	"WrongType":      {{"create", crate(`{size: many}`)}},
	"Enum":           {{"create", crate(`{color: green}`)}},
	"Required":       {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x}}`}},
	"Rule":           {{"create", crate(`{size: 11}`)}},
	"Scale":          {{"create", crate(`{size: -1}`)}},
	"Set":            {{"create", crate(`{tags: [a, a]}`)}},
	"MapKeys":        {{"create", crate(`{parts: [{name: a}, {name: a}]}`)}},
	"IntOrString":    {{"create", crate(`{port: http}`)}, {"merge", `{spec: {port: 80}}`}, {"merge", `{spec: {port: true}}`}},
	"Embedded":       {{"create", crate(`{template: {apiVersion: v1, kind: Pod, metadata: {name: a, bad: 1, labels: {a: b}}, spec: {x: 1}}}`)}},
	"EmbeddedBad":    {{"create", crate(`{template: {kind: Pod}}`)}},
	"Name":           {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: Not_A_Name}, spec: {}}`}},
	"Label":          {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x, labels: {a: "not a value"}}, spec: {}}`}},
	"LabelType":      {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x, labels: {a: 1}}, spec: {}}`}},
	"Transition":     {{"create", crate(`{color: red}`)}, {"merge", `{spec: {color: blue}}`}, {"merge", `{spec: {color: null}}`}, {"merge", `{spec: {size: 4}}`}},
	"StatusIgnored":  {{"create", `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x}, spec: {}, status: {phase: Told}}`}, {"merge", `{status: {phase: Other}}`}},
	"Status":         {{"create", crate(`{}`)}, {"status", `{spec: {size: 9}, status: {phase: Done, lost: 1}}`}, {"status", `{status: {phase: TooLong}}`}, {"status", `{status: null}`}},
	"Apply": {
		{"apply", crate(`{parts: [{name: a, count: 2}], tags: [x]}`)}, {"apply", crate(`{parts: [{name: b}], tags: [y]}`)},
		{"merge", `{spec: {parts: [{name: b}, {name: c}]}}`}, {"apply", crate(`{parts: [{name: b, count: 5}]}`)},
	},
	"ApplyUnknown":   {{"apply", crate(`{nothing: 1}`)}},
	"ConfigMap":      {{"create", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}, dta: {c: d}}`}},
	"ConfigMapType":  {{"create", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: 1}}`}},
	"Immutable":      {{"create", `{apiVersion: v1, kind: ConfigMap, metadata: {name: x}, data: {a: b}, immutable: true}`}, {"merge", `{data: {a: c}}`}},
	"Secret":         {{"create", `{apiVersion: v1, kind: Secret, metadata: {name: x}, stringData: {a: b}, data: {c: ZA==}}`}, {"merge", `{type: other}`}},
	"Service":        {{"create", `{apiVersion: v1, kind: Service, metadata: {name: 1x.y}, spec: {ports: [{port: 80}]}}`}},
	"Pod":            {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: b, imag: c}]}}`}, {"merge", `{spec: {hostname: other}}`}},
	"PodNoContainer": {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: []}}`}},
	"PodTwice":       {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: b}, {name: a, image: b}]}}`}},
	"PodMount": {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {volumes: [{name: v, emptyDir: {}}],
		containers: [{name: a, image: b, volumeMounts: [{name: v, mountPath: /v}, {name: w, mountPath: /w}]}]}}`}},
	"DeploymentMount": {{"create", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, volumeMounts: [{name: w, mountPath: /w}]}]}}}}`}},
	"StatefulSetMount": {{"create", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, volumeMounts: [{name: w, mountPath: /w}]}]}}}}`}},
	"StatefulSetClaim": {{"create", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b, volumeMounts: [{name: w, mountPath: /w}]}]}},
		volumeClaimTemplates: [{metadata: {name: w}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]}}`}},
	"Quantity": {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: b,
		resources: {requests: {cpu: 1000m, memory: 1024Mi}}}]}}`}},
	"QuantityBad": {{"create", `{apiVersion: v1, kind: Pod, metadata: {name: x}, spec: {containers: [{name: a, image: b, resources: {requests: {cpu: lots}}}]}}`}},
	"Deployment": {
		{"create", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {replicas: 0, selector: {matchLabels: {a: b}},
			template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}}`},
		{"merge", `{spec: {selector: {matchLabels: {c: d}}}}`}, {"merge", `{spec: {replicas: "2"}}`}, {"merge", `{spec: {template: {metadata: {labels: {e: f}}}}}`},
	},
	"DeploymentSelector": {{"create", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {selector: {matchLabels: {a: b}},
		template: {metadata: {labels: {a: c}}, spec: {containers: [{name: a, image: b}]}}}}`}},
	"DeploymentBare": {{"create", `{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}`}},
	"StatefulSet": {
		{"create", `{apiVersion: apps/v1, kind: StatefulSet, metadata: {name: x}, spec: {replicas: 0, serviceName: a, selector: {matchLabels: {a: b}},
			template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: b}]}}}}`},
		{"merge", `{spec: {serviceName: b}}`}, {"merge", `{spec: {minReadySeconds: 2}}`},
	},
	"Job": {
		{"create", `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: b}]}}}}`},
		{"merge", `{spec: {completionMode: Indexed}}`},
	},
	"JobPolicy": {{"create", `{apiVersion: batch/v1, kind: Job, metadata: {name: x}, spec: {template: {spec: {containers: [{name: a, image: b}]}}}}`}},
	"ApplyBuiltIn": {
		{"apply", `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80, name: a}, {port: 81, name: b}]}}`},
		{"apply", `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {ports: [{port: 80, name: a}]}}`},
		{"apply", `{apiVersion: v1, kind: Service, metadata: {name: x}, spec: {prts: []}}`},
	},
}

func crate(spec string) string {
	return `{apiVersion: GROUP/v1, kind: Crate, metadata: {name: x}, spec: ` + spec + `}`
}

// TestOffline makes the same writes on the real API server and on the one in memory.
func TestOffline(t *testing.T) {
	e := env.New(t)
	text := func(text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: parse(t, strings.ReplaceAll(text, "GROUP", e.Group)).(map[string]any)}
	}
	crd := text(offlineCRD)
	e.Apply(strings.ReplaceAll(offlineCRD, "GROUP", e.Group))
	custom, err := validation.Read(crd)
	env.NoError(t, err)
	builtIn, err := validation.BuiltIn()
	env.NoError(t, err)
	offline := memcluster.New(clock.RealClock{}, append(builtIn, custom...)...)
	for _, name := range slices.Sorted(maps.Keys(offlineCases)) {
		t.Run(name, func(t *testing.T) {
			if name == "StatefulSetMount" {
				e.Cluster.SkipBefore(t, 34, "the Pods of a StatefulSet are validated")
			}
			var realOne, memory dynamic.ResourceInterface
			for i, step := range offlineCases[name] {
				body := text(step.body)
				if body.GetKind() != "" {
					resource, err := offline.ResourceOf(body.GroupVersionKind())
					env.NoError(t, err)
					namespace := e.Namespace
					realOne = e.Cluster.Dynamic().Resource(resource.GroupVersionResource).Namespace(namespace)
					memory = offline.Client(nil).Resource(resource.GroupVersionResource).Namespace(namespace)
				}
				want, wantErr := step.do(t.Context(), realOne, body)
				got, gotErr := step.do(t.Context(), memory, body)
				compareErrors(t, i, wantErr, gotErr)
				if want != nil && got != nil {
					compareObjects(t, i, want, got, body.GetKind() == "Crate")
				}
			}
			cleanUp(t, realOne, memory)
		})
	}
}

func (s offlineStep) do(ctx context.Context, at dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(object.Object)
	if err != nil {
		return nil, err
	}
	force := true
	switch s.verb {
	case "create":
		return at.Create(ctx, object.DeepCopy(), metav1.CreateOptions{})
	case "apply":
		return at.Patch(ctx, object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{FieldManager: "test", Force: &force})
	case "status":
		return at.Patch(ctx, "x", types.MergePatchType, body, metav1.PatchOptions{}, "status")
	default:
		return at.Patch(ctx, "x", types.MergePatchType, body, metav1.PatchOptions{})
	}
}

// compareErrors checks that both refuse with the same code, and blame the same fields in the same words.
func compareErrors(t *testing.T, step int, want, got error) {
	t.Helper()
	if (want == nil) != (got == nil) || apierrors.ReasonForError(want) != apierrors.ReasonForError(got) {
		t.Errorf("step %d: the API server answers %v, memory %v", step, want, got)
		return
	}
	if want == nil || !apierrors.IsInvalid(want) {
		return
	}
	if diff := cmp.Diff(blamed(want), blamed(got)); diff != "" {
		t.Errorf("step %d: blamed fields: -API server +memory:\n%s\n%v\n%v", step, diff, want, got)
	}
}

// compareObjects checks that both store the same. Of built-in kinds the API server fills in more.
func compareObjects(t *testing.T, step int, want, got *unstructured.Unstructured, exact bool) {
	t.Helper()
	for _, o := range []*unstructured.Unstructured{want, got} {
		for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"} {
			unstructured.RemoveNestedField(o.Object, "metadata", name)
		}
	}
	wanted := any(want.Object)
	if !exact {
		wanted = part(want.Object, got.Object)
	}
	if diff := cmp.Diff(wanted, any(got.Object)); diff != "" {
		t.Errorf("step %d: -API server +memory:\n%s", step, diff)
	}
}

// part returns of an object the fields that another one has.
func part(object, other any) any {
	switch o := object.(type) {
	case map[string]any:
		fields, ok := other.(map[string]any)
		if !ok {
			return object
		}
		common := map[string]any{}
		for name, value := range o {
			if has, ok := fields[name]; ok {
				common[name] = part(value, has)
			}
		}
		return common
	case []any:
		items, ok := other.([]any)
		if !ok || len(items) != len(o) {
			return object
		}
		var list []any
		for i := range o {
			list = append(list, part(o[i], items[i]))
		}
		return list
	}
	return object
}

func cleanUp(t *testing.T, clients ...dynamic.ResourceInterface) {
	t.Helper()
	none := int64(0)
	for _, at := range clients {
		err := at.Delete(t.Context(), "x", metav1.DeleteOptions{GracePeriodSeconds: &none})
		if err != nil && !apierrors.IsNotFound(err) {
			t.Error(err)
		}
	}
	cluster.Eventually(t, env.Timeout, func() error {
		_, err := clients[0].Get(t.Context(), "x", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("the object is still there: %w", err)
	})
}
