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

// TestNamedSecrets has a parent name a Secret, without a customize hook: one that is made after the parent, an edited one, another one, and
// what is no name, which leaves the status as it is.
func TestNamedSecrets(t *testing.T) {
	e := env.NewRunning(t)
	secret := func(name, text string) {
		t.Helper()
		e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Secret, metadata: {name: %s}, stringData: {text: %q}}", name, text))
	}
	secret("two", "2")
	name := e.DefineReady(env.Composite, "", e.Parent("things", ""), "generateSelector: true",
		"relatedResources: [{apiVersion: v1, resource: secrets, nameFrom: {fieldPath: 'spec.pull[*].name'}}]", env.Hooks(relating, "sync"))
	e.ApplyThing("a", "", "pull: []")
	shows(e, "a", "Secret.v1: ")
	e.ApplyThing("a", "", "pull: [{name: one}]")
	secret("one", "1")
	shows(e, "a", "Secret.v1: "+e.Namespace+"/one=MQ==")
	secret("one", "3")
	shows(e, "a", "Secret.v1: "+e.Namespace+"/one=Mw==")
	e.ApplyThing("a", "", "pull: [{name: two}]")
	shows(e, "a", "Secret.v1: "+e.Namespace+"/two=Mg==")
	e.ApplyThing("a", "", "pull: [{name: two}, {name: other/one}]")
	e.WaitForEvent("a", "SyncError", "spec.relatedResources[0].nameFrom: spec.pull[1].name of the parent is no name of an object, which may not contain '/'")
	e.WaitForCondition(name, "ParentsSynced", "False", "a: ", "spec.pull[1].name")
	shows(e, "a", "Secret.v1: "+e.Namespace+"/two=Mg==")
	e.ApplyThing("a", "", "pull: [{name: one}, {name: two}]")
	shows(e, "a", fmt.Sprintf("Secret.v1: %s/one=Mw== %s/two=Mg==", e.Namespace, e.Namespace))
	e.WaitForCondition(name, "ParentsSynced", "True")
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
