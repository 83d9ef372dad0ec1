package kinds

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// declare sets what the customize hook of a definition may ask for.
func declare(e *env.Env, name, rules string) {
	e.T.Helper()
	e.PatchDefinition(env.Composite, name, `{"spec": {"relatedResources": `+rules+`}}`)
}

// TestSecretsOfOthers has a script ask for Secrets of another namespace in all ways that there are. It
// is shown none, and they are not even read, until the definition declares one of them.
func TestSecretsOfOthers(t *testing.T) {
	e := env.NewRunning(t)
	there := e.Cluster.Namespace(t)
	for _, name := range []string{"token", "other"} {
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s, namespace: %s, labels: {tier: x}}, stringData: {text: hidden}}",
			name, there))
	}
	e.ApplyConfigMap("one", "", "1")
	name := defineRelating(e, "v2")
	since := e.Mark()
	const all = `{"apiVersion": "v1", "resource": "secrets"`
	token := all + `, "names": ["token"], "namespace": "` + there + `"}`
	cases := map[string]string{
		"all":        all + "}",
		"namespace":  all + `, "namespace": "` + there + `"}`,
		"token":      token,
		"labels":     all + `, "labelSelector": {"matchLabels": {"tier": "x"}}}`,
		"namespaces": all + `, "namespaceSelector": {}}`,
	}
	for name, rule := range cases {
		asker(e, name, "v2", `[{"apiVersion": "v1", "resource": "configmaps", "names": ["one"], "namespace": "`+e.Namespace+`"}, `+rule+"]")
	}
	for name := range cases {
		e.WaitForEvent(name, "SyncError", "HookResponseInvalid: customize hook: relatedResources[1]: asks for Secrets",
			"list them in spec.relatedResources")
		if said := e.Get(e.Things(), name).Object["status"]; said != nil {
			t.Errorf("%s has the status %v, though its hook was refused", name, said)
		}
	}
	e.NoRequests(e.Requests(since).Filter(func(r cluster.Request) bool { return r.Resource == "secrets" }), "Secrets were read")

	declare(e, name, `[{"apiVersion": "v1", "resource": "configmaps"}, `+token+"]")
	shows(e, "token", fmt.Sprintf("ConfigMap.v1: %s/one=1; Secret.v1: %s/token=aGlkZGVu", e.Namespace, there))
	for name := range cases {
		if name != "token" {
			e.WaitForEvent(name, "SyncError", "relatedResources[1]: asks for all secrets", `declares secrets named "token" in namespace "`+there+`" only`)
		}
	}
}

// TestDeclaredLabels shows that a script which asks for everything is shown what the definition's
// label selector matches, and when that changes.
func TestDeclaredLabels(t *testing.T) {
	e := env.NewRunning(t)
	there := e.Cluster.Namespace(t)
	text := func(namespace, name, colour string) {
		t.Helper()
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: ConfigMap, metadata: {name: %s, namespace: %s, labels: {colour: %q}}, data: {text: %q}}",
			name, namespace, colour, name))
	}
	colour := "red-" + there
	text(e.Namespace, "one", colour)
	text(there, "two", "blue")
	name := defineRelating(e, "v2")
	declare(e, name, `[{"apiVersion": "v1", "resource": "configmaps", "labelSelector": {"matchLabels": {"colour": "`+colour+`"}}}]`)
	asker(e, "asker", "v2", `[{"apiVersion": "v1", "resource": "configmaps"}]`)
	one, two := e.Namespace+"/one=one", there+"/two=two"
	shows(e, "asker", "ConfigMap.v1: "+one)
	text(there, "two", colour)
	shows(e, "asker", "ConfigMap.v1: "+min(one, two)+" "+max(one, two))
	text(e.Namespace, "one", "blue")
	shows(e, "asker", "ConfigMap.v1: "+two)
}

// TestRelatedWarnings shows what the conditions of a definition report about its customize webhook.
func TestRelatedWarnings(t *testing.T) {
	e := env.NewRunning(t)
	const hook = "{version: v2, webhook: {url: 'http://127.0.0.1:1/'}}"
	name := e.DefineReady(env.Composite, "", fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things}\ngenerateSelector: true", e.Group),
		"hooks: {sync: "+hook+", customize: "+hook+"}")
	e.WaitForCondition(name, "Ready", "True", "RelatedResourcesNotDeclared", "Secrets included", "relatedResources")
	e.WaitForEvent(name, "RelatedResourcesNotDeclared", "may ask for all objects")
	declare(e, name, `[{"apiVersion": "v1", "resource": "secrets"}, {"apiVersion": "v1", "resource": "secret"}]`)
	e.WaitForCondition(name, "Ready", "True", "RelatedResourceNotServed", `relatedResources[1]: the API server has no resource "secret"`)
	declare(e, name, `[{"apiVersion": "v1", "resource": "nodes", "namespace": "a"}]`)
	e.WaitForCondition(name, "Accepted", "False", "Invalid", "spec.relatedResources[0]: nodes are in no namespace")
	declare(e, name, `[{"apiVersion": "v1", "resource": "nodes"}]`)
	e.WaitForCondition(name, "Ready", "True", "Running")
}
