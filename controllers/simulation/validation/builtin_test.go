package validation

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/controllers/simulation/memcluster"
)

// builtInFor returns the resource of an object's kind.
func builtInFor(t *testing.T, object *unstructured.Unstructured) memcluster.Resource {
	t.Helper()
	resources, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources {
		if resource.Kind == object.GroupVersionKind() {
			return resource
		}
	}
	t.Fatalf("there is no %s", object.GroupVersionKind())
	return memcluster.Resource{}
}

// TestBuiltInSchemas checks that every built-in resource has a schema.
func TestBuiltInSchemas(t *testing.T) {
	resources, err := BuiltIn()
	if err != nil {
		t.Fatal(err)
	}
	for _, resource := range resources {
		if resource.Schema == nil {
			t.Errorf("%s has no schema", resource.Kind)
		}
	}
}

// TestDecodeBuiltIn has what test/integration/api compares with a real API server, and more.
func TestDecodeBuiltIn(t *testing.T) {
	cases := map[string]struct {
		reason, given, want string
		dropped             []string
		fails               bool
	}{
		"Unknown": {
			reason:  "Unknown fields of all levels are dropped.",
			given:   `{apiVersion: v1, kind: Pod, top: 1, metadata: {name: a, other: 1}, spec: {containers: [{name: a, imag: b}]}}`,
			want:    `{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: [{name: a}]}}`,
			dropped: []string{"metadata.other", "spec.containers[0].imag", "top"},
		},
		"Quantities": {
			reason: "Quantities are written in their shortest form.",
			given:  `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1024Mi}}}}`,
			want:   `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: 1Gi}}}}`,
		},
		"Zero": {
			reason: "A zero that is given stays, and none is added.",
			given:  `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: {spec: {}}}}`,
			want:   `{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0, template: {spec: {}}}}`,
		},
		"StringData": {
			reason: "A Secret's stringData goes into its data.",
			given:  `{apiVersion: v1, kind: Secret, stringData: {a: b}, data: {c: ZA==}}`,
			want:   `{apiVersion: v1, kind: Secret, data: {a: Yg==, c: ZA==}}`,
		},
		"Null": {
			reason: "Nulls are as if they were not there.",
			given:  `{apiVersion: v1, kind: ConfigMap, data: null, metadata: {labels: null}}`,
			want:   `{apiVersion: v1, kind: ConfigMap, metadata: {}}`,
		},
		"Nulls of data": {
			reason: "The data of a ControllerRevision has no type: it stays as it is.",
			given:  `{apiVersion: apps/v1, kind: ControllerRevision, data: {a: null, b: "", c: {d: null}}, revision: 1}`,
			want:   `{apiVersion: apps/v1, kind: ControllerRevision, data: {a: null, b: "", c: {d: null}}, revision: 1}`,
		},
		"Type": {reason: "A wrong type is an error.", given: `{apiVersion: v1, kind: ConfigMap, data: {a: 1}}`, fails: true},
		"Quantity": {
			reason: "A quantity that is none is an error.", fails: true,
			given: `{apiVersion: v1, kind: PersistentVolumeClaim, spec: {resources: {requests: {storage: much}}}}`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := parse(t, tc.given)
			dropped, err := builtInFor(t, object).Schema.Decode(object.Object)
			if (err != nil) != tc.fails {
				t.Fatalf("%s got error %v", tc.reason, err)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tc.dropped, dropped); diff != "" {
				t.Errorf("%s dropped: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(parse(t, tc.want).Object, object.Object); diff != "" {
				t.Errorf("%s -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestServed checks a resource with a schema in a cluster: what is dropped is reported, and what is invalid is refused.
func TestServed(t *testing.T) {
	resources, err := Read(parse(t, partsCRD))
	if err != nil {
		t.Fatal(err)
	}
	c := memcluster.New(nil, resources...)
	if err := c.Seed(parse(t, `{apiVersion: example.com/v1, kind: Kit, metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {tags: [a, a]}}`)); err == nil {
		t.Error("an invalid object is stored")
	}
	if err := c.Seed(parse(t, `{apiVersion: example.com/v1, kind: Kit, metadata: {name: a, creationTimestamp: "2026-01-01T00:00:00Z"}, spec: {other: 1}}`)); err != nil {
		t.Error(err)
	}
	if spec := c.Objects()[0].Object["spec"]; len(spec.(map[string]any)) > 0 {
		t.Errorf("an unknown field is stored: %v", spec)
	}
}

// TestMounts checks that what containers mount is a volume, as on the API server: test/integration/api compares both.
func TestMounts(t *testing.T) {
	const (
		mount  = `containers: [{name: a, image: b, volumeMounts: [{name: v, mountPath: /v}]}]`
		labels = `selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {` + mount + `}}`
	)
	cases := map[string]struct{ reason, given, want string }{
		"Volume":  {"a volume of the Pod is mounted", `{apiVersion: v1, kind: Pod, spec: {volumes: [{name: v, emptyDir: {}}], ` + mount + `}}`, ""},
		"Missing": {"one that is not there is refused", `{apiVersion: v1, kind: Pod, spec: {` + mount + `}}`, "spec.containers[0].volumeMounts[0].name"},
		"Init": {
			"also of init containers", `{apiVersion: v1, kind: Pod, spec: {containers: [{name: x, image: b}], initC` + mount[1:] + `}}`,
			"spec.initContainers[0].volumeMounts[0].name",
		},
		"Template": {
			"and in templates", `{apiVersion: apps/v1, kind: Deployment, spec: {` + labels + `}}`,
			"spec.template.spec.containers[0].volumeMounts[0].name",
		},
		"Claim": {
			"the claims of a StatefulSet are volumes",
			`{apiVersion: apps/v1, kind: StatefulSet, spec: {` + labels + `, volumeClaimTemplates: [{metadata: {name: v}}]}}`, "",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			object := parse(t, tc.given)
			object.SetName("a")
			object.SetNamespace("default")
			got := ""
			for _, err := range builtInFor(t, object).Schema.Validate(object, nil) {
				got += err.Field
			}
			if got != tc.want {
				t.Errorf("%s: the fields that are refused are %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
