package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// knowing defines a kind whose spec or status have these fields alone.
func knowing(e *env.Env, kind, part string, fields ...string) {
	e.T.Helper()
	crd := e.Parse(env.CRD(e.Group, kind, "Namespaced"))
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	e.NoError(unstructured.SetNestedMap(version, map[string]any{"type": "object", "properties": properties}, "schema", "openAPIV3Schema",
		"properties", part))
	e.ApplyObject(crd)
}

// TestSchemaLearnsAField has CustomResourceDefinitions of children and parents learn a field that was dropped or refused: it is
// written without anything else happening. Others of the definition's parents are not asked again for nothing.
func TestSchemaLearnsAField(t *testing.T) {
	e := env.NewRunning(t)
	knowing(e, "Leaf", "spec", "known")
	knowing(e, "Sprout", "spec", "known")
	knowing(e, "Tree", "status", "known")
	leaves, sprouts, trees := e.Resource("Leaf"), e.Resource("Sprout"), e.Resource("Tree")
	script := func(kind string) string {
		return fmt.Sprintf(`
const fields = {known: "here", later: "too"};
export const sync = ({parent}) => ({status: fields, children: [{apiVersion: %q, kind: %q, metadata: {name: parent.metadata.name}, spec: fields}]});`, e.Group+"/v1", kind)
	}
	spec := func(set, children, strategy string) string {
		return fmt.Sprintf("generateSelector: true\napplyStrategy: %s\nparentResource: {apiVersion: %s/v1, resource: trees, labelSelector: {matchLabels: {set: %s}}}\nchildResources: [{apiVersion: %s/v1, resource: %s, updateStrategy: {method: InPlace}}]",
			strategy, e.Group, set, e.Group, children)
	}
	dynamic := e.DefineReady(env.Composite, "-dynamic", spec("dynamic", leaves.Resource, "DynamicApply"), env.Hooks(script("Leaf"), "sync"))
	e.DefineReady(env.Composite, "-serverside", spec("serverside", sprouts.Resource, "ServerSideApply"), env.Hooks(script("Sprout"), "sync"))
	for _, set := range []string{"dynamic", "serverside"} {
		e.ApplyCustom("Tree", set, "set: "+set, "")
	}
	e.WaitFor(leaves, "dynamic", env.HasField("map[known:here]", "spec"))
	e.WaitForEvent("serverside", "SyncError", "field not declared in schema") // Server-side apply drops nothing.
	e.WaitFor(trees, "dynamic", env.HasField("map[known:here]", "status"))
	e.WaitForEvent("dynamic", "StatusNotStored", "status.later")
	e.WaitForQuiet()

	before := e.HookCalls(env.Composite, dynamic, "sync")
	knowing(e, "Sprout", "spec", "known", "later")
	e.WaitFor(sprouts, "serverside", env.HasField("map[known:here later:too]", "spec"))
	e.WaitForQuiet()
	if after := e.HookCalls(env.Composite, dynamic, "sync"); after != before {
		t.Errorf("the hook of a definition whose schemas are as they were was called %v times, want %v", after, before)
	}
	knowing(e, "Leaf", "spec", "known", "later")
	e.WaitFor(leaves, "dynamic", env.HasField("map[known:here later:too]", "spec"))
	knowing(e, "Tree", "status", "known", "later")
	for _, set := range []string{"dynamic", "serverside"} {
		e.WaitFor(trees, set, env.HasField("map[known:here later:too]", "status"))
	}
	e.WaitForQuiet()

	// What has been learnt is quiet again. The API server serves the new schema before it publishes it, so that a status may be written
	// once more when the program reads it.
	e.Eventually(func() error {
		mark, passes := e.Mark(), e.ReconcilesOf(env.Composite, dynamic, "success")
		e.Patch(trees, "dynamic", fmt.Sprintf(`{"metadata": {"annotations": {"touched": "%v"}}}`, passes))
		e.WaitForReconcilesOf(env.Composite, dynamic, passes+1)
		e.WaitForQuiet()
		writes := e.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Group == e.Group })
		if len(writes) > 0 {
			return fmt.Errorf("a pass that changes nothing writes:\n%s", writes)
		}
		return nil
	})
}
