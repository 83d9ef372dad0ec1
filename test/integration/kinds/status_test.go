package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// hasField checks the text of a field of an object.
func hasField(want string, path ...string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		value, _, err := unstructured.NestedFieldNoCopy(o.Object, path...)
		if got := fmt.Sprint(value); got != want {
			return fmt.Errorf("%v is %s, want %s (%v)", path, got, want, err)
		}
		return nil
	}
}

// TestBuiltInParents has composites on kinds whose status others write. Theirs stays, whether the hook answers a status or not.
func TestBuiltInParents(t *testing.T) {
	w := newScene(t)
	cases := map[string]struct {
		resource schema.GroupVersionResource
		manifest string
		theirs   string // a patch of the status
		want     func(*unstructured.Unstructured) error
		ours     string // a condition
	}{
		"service": {services, `{apiVersion: v1, kind: Service, metadata: {name: service, labels: {set: service}}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`,
			`{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}`, hasField("[map[ip:192.0.2.1 ipMode:VIP]]", "status", "loadBalancer", "ingress"),
			`{type: "Ours", status: "True", reason: "Ours", message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`},
		"pod": {env.Pods, `{apiVersion: v1, kind: Pod, metadata: {name: pod, labels: {set: pod}}, spec: {schedulerName: nobody, containers: [{name: c, image: i}]}}`,
			`{"status": {"phase": "Running", "reason": "Theirs"}}`, hasField("Theirs", "status", "reason"), `{type: "Ours", status: "True"}`},
		"deployment": {deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: deployment, labels: {set: deployment}},
			spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`,
			`{"status": {"collisionCount": 7}}`, hasField("7", "status", "collisionCount"), `{type: "Ours", status: "True"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.with(t)
			w.Apply(tc.manifest)
			w.Patch(tc.resource, name, tc.theirs, "status")
			w.define(composite, "-"+name, fmt.Sprintf("generateSelector: true\nparentResource: {apiVersion: %s, resource: %s, labelSelector: {matchLabels: {set: %s}}}",
				tc.resource.GroupVersion(), tc.resource.Resource, name), "childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]", hooks(fmt.Sprintf(`
export const sync = ({parent: {metadata}}) => ({
  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name}, data: {text: metadata.labels.say ?? "nothing"}}],
  ...(metadata.labels.say ? {status: {conditions: [%s]}} : {}),
});`, tc.ours), "sync"))
			w.WaitFor(env.ConfigMaps, name, hasText("nothing"))
			w.WaitForQuiet()
			if err := tc.want(w.Get(tc.resource, name)); err != nil {
				t.Errorf("the hook says nothing of a status: %v", err)
			}
			w.Patch(tc.resource, name, `{"metadata": {"labels": {"say": "something"}}}`)
			w.WaitFor(env.ConfigMaps, name, hasText("something"))
			parent := w.WaitFor(tc.resource, name, func(o *unstructured.Unstructured) error {
				if c := w.ConditionOf(o, "Ours"); c.Status != "True" {
					return fmt.Errorf("the hook's condition is not there: %v", o.Object["status"])
				}
				return nil
			})
			if err := tc.want(parent); err != nil {
				t.Errorf("the hook names another field: %v", err)
			}
		})
	}
}

// TestStatusWithoutSubresource has decorators give a status to kinds that have no status subresource.
func TestStatusWithoutSubresource(t *testing.T) {
	w := newScene(t)
	plain := w.Parse(env.CRD(w.Group, "Plain", "Namespaced"))
	withoutStatus(t, plain, "subresources")
	w.ApplyObject(plain)
	answer := `export const sync = ({object}) => ({status: {said: object.metadata.labels.say}});`
	w.define(decorator, "-plain", fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: plains}]", w.Group), hooks(answer, "sync"))
	w.define(decorator, "-map", `resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {decorate: "yes"}}}]`, hooks(answer, "sync"))
	plains := w.resource("Plain")
	for _, say := range []string{"this", "that"} {
		w.object("Plain", "a", "say: "+say, "")
		w.WaitFor(plains, "a", hasField(say, "status", "said"))
	}
	w.configMap("a", `decorate: "yes", say: this`, "text")
	w.WaitForEvent("a", "StatusNotStored", "status.said of configmaps")
	w.WaitForQuiet()
}

// withoutStatus takes of a CustomResourceDefinition's versions what has to do with a status:
// the fields in its schema, or the subresource.
func withoutStatus(t *testing.T, crd *unstructured.Unstructured, what string) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	if err != nil {
		t.Fatal(err)
	}
	for i := range versions {
		version := versions[i].(map[string]any)
		if what == "subresources" {
			delete(version, what)
		} else if err := unstructured.SetNestedMap(version, map[string]any{"type": "object"}, "schema", "openAPIV3Schema", "properties", "status"); err != nil {
			t.Fatal(err)
		}
	}
	if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
}

// TestEmptyStatus stands for metacontroller's TestResyncAfter of decorators: a status {} is written to an object that has
// none, the hook sees it, asks for a resync, and nothing else is written. Where the schema drops it, it is written once.
func TestEmptyStatus(t *testing.T) {
	w := newScene(t)
	dropping := w.Parse(env.CRD(w.Group, "Bare", "Namespaced"))
	versions := dropping.Object["spec"].(map[string]any)["versions"].([]any)
	unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status")
	w.ApplyObject(dropping)
	for kind, stored := range map[string]string{"Thing": "map[]", "Bare": "<nil>"} {
		t.Run(kind, func(t *testing.T) {
			w := w.with(t)
			resource := w.resource(kind)
			name := w.define(decorator, "-"+resource.Resource, fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: %s}]", w.Group, resource.Resource), hooks(`
export const sync = ({object}) => object.status === undefined ? {status: {}, labels: {seen: "none"}} : {status: {}, labels: {seen: "empty"}, resyncAfterSeconds: 0.1};`, "sync"))
			mark := w.Mark()
			w.object(kind, "a", "", "")
			seen := map[string]string{"Thing": "empty", "Bare": "none"}[kind]
			w.WaitFor(resource, "a", hasField(seen, "metadata", "labels", "seen"))
			w.WaitFor(resource, "a", hasField(stored, "status"))
			if kind == "Thing" {
				w.mustPasses(decorator, name, w.passes(decorator, name)+3)
			}
			w.WaitForQuiet()
			statuses := w.Requests(mark).Filter(func(r cluster.Request) bool { return r.Subresource == "status" && r.Resource == resource.Resource })
			if len(statuses) != 1 {
				t.Errorf("the status was written %d times, want once:\n%s", len(statuses), statuses)
			}
		})
	}
}
