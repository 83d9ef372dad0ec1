package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestBuiltInParents has composites on kinds whose status others write. Theirs stays, whether the hook answers a status or not.
func TestBuiltInParents(t *testing.T) {
	e := env.NewRunning(t)
	cases := map[string]struct {
		resource schema.GroupVersionResource
		manifest string
		theirs   string // a patch of the status
		want     func(*unstructured.Unstructured) error
		ours     string // a condition
	}{
		"service": {env.Services, `{apiVersion: v1, kind: Service, metadata: {name: service, labels: {set: service}}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`,
			`{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ipMode": "VIP"}]}}}`,
			env.HasField("[map[ip:192.0.2.1 ipMode:VIP]]", "status", "loadBalancer", "ingress"),
			`{type: "Ours", status: "True", reason: "Ours", message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`},
		"pod": {env.Pods, `{apiVersion: v1, kind: Pod, metadata: {name: pod, labels: {set: pod}}, spec: {schedulerName: nobody, containers: [{name: c, image: i}]}}`,
			`{"status": {"phase": "Running", "reason": "Theirs"}}`, env.HasField("Theirs", "status", "reason"), `{type: "Ours", status: "True"}`},
		"deployment": {env.Deployments, `{apiVersion: apps/v1, kind: Deployment, metadata: {name: deployment, labels: {set: deployment}},
			spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`,
			`{"status": {"collisionCount": 7}}`, env.HasField("7", "status", "collisionCount"), `{type: "Ours", status: "True"}`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			e.Apply(tc.manifest)
			e.Patch(tc.resource, name, tc.theirs, "status")
			e.DefineReady(env.Composite, "-"+name,
				fmt.Sprintf("generateSelector: true\nparentResource: {apiVersion: %s, resource: %s, labelSelector: {matchLabels: {set: %s}}}",
					tc.resource.GroupVersion(), tc.resource.Resource, name), env.UpdatedChildren, env.Hooks(fmt.Sprintf(`
export const sync = ({parent: {metadata}}) => ({
  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name}, data: {text: metadata.labels.say ?? "nothing"}}],
  ...(metadata.labels.say ? {status: {conditions: [%s]}} : {}),
});`, tc.ours), "sync"))
			e.WaitFor(env.ConfigMaps, name, env.HasText("nothing"))
			e.WaitForQuiet()
			if err := tc.want(e.Get(tc.resource, name)); err != nil {
				t.Errorf("the hook says nothing of a status: %v", err)
			}
			e.Patch(tc.resource, name, `{"metadata": {"labels": {"say": "something"}}}`)
			e.WaitFor(env.ConfigMaps, name, env.HasText("something"))
			parent := e.WaitFor(tc.resource, name,
				func(o *unstructured.Unstructured) error { return env.CheckCondition(e.ConditionOf(o, "Ours"), "True") })
			if err := tc.want(parent); err != nil {
				t.Errorf("the hook names another field: %v", err)
			}
		})
	}
}

// TestStatusWithoutSubresource has decorators give a status to kinds that have no status subresource.
func TestStatusWithoutSubresource(t *testing.T) {
	e := env.NewRunning(t)
	plain := e.Parse(env.CRD(e.Group, "Plain", "Namespaced"))
	withoutStatus(t, plain, "subresources")
	e.ApplyObject(plain)
	answer := `export const sync = ({object}) => ({status: {said: object.metadata.labels.say}});`
	e.DefineReady(env.Decorator, "-plain", e.Targets("plains", ""), env.Hooks(answer, "sync"))
	e.DefineReady(env.Decorator, "-map",
		`resources: [{apiVersion: v1, resource: configmaps, labelSelector: {matchLabels: {decorate: "yes"}}}]`, env.Hooks(answer, "sync"))
	plains := e.Resource("Plain")
	for _, say := range []string{"this", "that"} {
		e.ApplyCustom("Plain", "a", "say: "+say, "")
		e.WaitFor(plains, "a", env.HasSaid(say))
	}
	e.ApplyConfigMap("a", `decorate: "yes", say: this`, "text")
	e.WaitForEvent("a", "StatusNotStored", "status.said of configmaps")
	e.WaitForQuiet()
}

// withoutStatus takes of a CustomResourceDefinition's versions what has to do with a status:
// the fields in its schema, or the subresource.
func withoutStatus(t *testing.T, crd *unstructured.Unstructured, what string) {
	t.Helper()
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	env.NoError(t, err)
	for i := range versions {
		version := versions[i].(map[string]any)
		if what == "subresources" {
			delete(version, what)
			continue
		}
		open := map[string]any{"type": "object"}
		env.NoError(t, unstructured.SetNestedMap(version, open, "schema", "openAPIV3Schema", "properties", "status"))
	}
	env.NoError(t, unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"))
}

// TestEmptyStatus stands for metacontroller's TestResyncAfter of decorators: a status {} is written to an object that has
// none, the hook sees it, asks for a resync, and nothing else is written. Where the schema drops it, it is written once.
func TestEmptyStatus(t *testing.T) {
	e := env.NewRunning(t)
	dropping := e.Parse(env.CRD(e.Group, "Bare", "Namespaced"))
	versions := dropping.Object["spec"].(map[string]any)["versions"].([]any)
	unstructured.RemoveNestedField(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties", "status")
	e.ApplyObject(dropping)
	for kind, stored := range map[string]string{"Thing": "map[]", "Bare": "<nil>"} {
		t.Run(kind, func(t *testing.T) {
			e := e.WithT(t)
			resource := e.Resource(kind)
			name := e.DefineReady(env.Decorator, "-"+resource.Resource, fmt.Sprintf("resources: [{apiVersion: %s/v1, resource: %s}]", e.Group, resource.Resource), env.Hooks(`
export const sync = ({object}) => object.status === undefined ? {status: {}, labels: {seen: "none"}} : {status: {}, labels: {seen: "empty"}, resyncAfterSeconds: 0.1};`, "sync"))
			mark := e.Mark()
			e.ApplyCustom(kind, "a", "", "")
			seen := map[string]string{"Thing": "empty", "Bare": "none"}[kind]
			e.WaitFor(resource, "a", env.HasField(seen, "metadata", "labels", "seen"))
			e.WaitFor(resource, "a", env.HasField(stored, "status"))
			if kind == "Thing" {
				e.WaitForReconcilesOf(env.Decorator, name, e.ReconcilesOf(env.Decorator, name, "success")+3)
			}
			e.WaitForQuiet()
			statuses := e.Requests(mark).Filter(func(r cluster.Request) bool { return r.Subresource == "status" && r.Resource == resource.Resource })
			if len(statuses) != 1 {
				t.Errorf("the status was written %d times, want once:\n%s", len(statuses), statuses)
			}
		})
	}
}
