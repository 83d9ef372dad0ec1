package rights

import (
	"strings"
	"testing"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestEditThatNeedsRights edits a script so that it writes where its account may not, and reads what it may not: the edit is held with both
// named, and takes over once they are granted.
func TestEditThatNeedsRights(t *testing.T) {
	const elsewhere = `
export const customize = () => ({relatedResources: [{apiVersion: "v1", resource: "secrets", namespace: "NAMESPACE"}]});
export const sync = ({parent: {metadata: {name}, spec: {text}}}) => ({
  children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name, namespace: "NAMESPACE"}, data: {text}}], status: {said: "edited " + text},
});`
	e, host := newHost(t)
	impersonates(e, host)
	e.Apply(env.CRD(e.Group, "Global", "Cluster"))
	account := newAccount(e)
	account.Grant("", e.Group, "globals,globals/status", "get", "list", "watch", "update", "patch")
	account.Grant("default", "", "events", "create", "patch")
	other := e.Cluster.Namespace(t)
	e.Start("--kubeconfig", host.Kubeconfig())
	source := func(text string) {
		e.Apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: hooks}, data: {hooks.js: " + env.Quote(text) + "}}")
	}
	source(replaceNamespace(elsewhere, e.Namespace))
	name := e.Define(env.Composite, "", e.Parent("globals", ""), asAccount(e), generated, env.UpdatedChildren,
		"scriptSources: [{configMap: {namespace: "+e.Namespace+", name: hooks}}]",
		"relatedResources: [{apiVersion: v1, resource: secrets}]",
		"hooks: {sync: {version: v2, script: {path: hooks.js}}, customize: {version: v2, script: {path: hooks.js}}}")
	account.Grant(e.Namespace, "", "secrets", "list", "watch")
	e.ClusterScope().ApplyCustom("Global", "a", "", "text: one")
	e.WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	e.WaitForCondition(name, "Ready", "True")

	source(replaceNamespace(elsewhere, other))
	account.Grant(other, "", "configmaps", "list", "watch", "get")
	e.WaitForCondition(name, "Progressing", "False", "is held", "it would need rights that ServiceAccount "+e.Namespace+"/account lacks",
		"list, watch secrets in the namespace "+other)
	account.Grant(other, "", "secrets", "list", "watch") // Only now the hooks are shown these, and say what they would write.
	e.WaitForCondition(name, "Progressing", "False", "is held", "it would need rights that ServiceAccount "+e.Namespace+"/account lacks",
		"create configmaps in the namespace "+other)
	if e.InNamespace(other).Get(env.ConfigMaps, "a") != nil {
		t.Error("the edit has taken over")
	}
	account.Grant(other, "", "configmaps", "create", "update", "patch", "delete")
	e.InNamespace(other).WaitFor(env.ConfigMaps, "a", env.HasText("one"))
	e.WaitForCondition(name, "Progressing", "True", "no edit of the scripts is held")
}

// replaceNamespace returns a script for a namespace.
func replaceNamespace(script, namespace string) string {
	return strings.ReplaceAll(script, "NAMESPACE", namespace)
}
