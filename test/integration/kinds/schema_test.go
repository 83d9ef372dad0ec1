package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// knowing defines a kind whose spec or status have these fields alone.
func (w *scene) knowing(kind, part string, fields ...string) {
	w.T.Helper()
	crd := w.Parse(env.CRD(w.Group, kind, "Namespaced"))
	properties := map[string]any{}
	for _, field := range fields {
		properties[field] = map[string]any{"type": "string"}
	}
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	if err := unstructured.SetNestedMap(version, map[string]any{"type": "object", "properties": properties}, "schema", "openAPIV3Schema", "properties", part); err != nil {
		w.T.Fatal(err)
	}
	w.ApplyObject(crd)
}

// TestSchemaLearnsAField has CustomResourceDefinitions of children and parents learn a field that was dropped or refused: it is
// written without anything else happening. Others of the definition's parents are not asked again for nothing.
func TestSchemaLearnsAField(t *testing.T) {
	w := newScene(t)
	w.knowing("Leaf", "spec", "known")
	w.knowing("Sprout", "spec", "known")
	w.knowing("Tree", "status", "known")
	leaves, sprouts, trees := w.resource("Leaf"), w.resource("Sprout"), w.resource("Tree")
	script := func(kind string) string {
		return fmt.Sprintf(`
const fields = {known: "here", later: "too"};
export const sync = ({parent}) => ({status: fields, children: [{apiVersion: %q, kind: %q, metadata: {name: parent.metadata.name}, spec: fields}]});`, w.Group+"/v1", kind)
	}
	spec := func(set, children, strategy string) string {
		return fmt.Sprintf("generateSelector: true\napplyStrategy: %s\nparentResource: {apiVersion: %s/v1, resource: trees, labelSelector: {matchLabels: {set: %s}}}\nchildResources: [{apiVersion: %s/v1, resource: %s, updateStrategy: {method: InPlace}}]",
			strategy, w.Group, set, w.Group, children)
	}
	dynamic := w.define(composite, "-dynamic", spec("dynamic", leaves.Resource, "DynamicApply"), hooks(script("Leaf"), "sync"))
	w.define(composite, "-serverside", spec("serverside", sprouts.Resource, "ServerSideApply"), hooks(script("Sprout"), "sync"))
	for _, set := range []string{"dynamic", "serverside"} {
		w.object("Tree", set, "set: "+set, "")
	}
	w.WaitFor(leaves, "dynamic", hasField("map[known:here]", "spec"))
	w.WaitForEvent("serverside", "SyncError", "field not declared in schema") // Server-side apply drops nothing.
	w.WaitFor(trees, "dynamic", hasField("map[known:here]", "status"))
	w.WaitForEvent("dynamic", "StatusNotStored", "status.later")
	w.WaitForQuiet()

	before := w.calls(composite, dynamic, "sync")
	w.knowing("Sprout", "spec", "known", "later")
	w.WaitFor(sprouts, "serverside", hasField("map[known:here later:too]", "spec"))
	w.WaitForQuiet()
	if after := w.calls(composite, dynamic, "sync"); after != before {
		t.Errorf("the hook of a definition whose schemas are as they were was called %v times, want %v", after, before)
	}
	w.knowing("Leaf", "spec", "known", "later")
	w.WaitFor(leaves, "dynamic", hasField("map[known:here later:too]", "spec"))
	w.knowing("Tree", "status", "known", "later")
	for _, set := range []string{"dynamic", "serverside"} {
		w.WaitFor(trees, set, hasField("map[known:here later:too]", "status"))
	}
	w.WaitForQuiet()

	// What has been learnt is quiet again.
	mark := w.Mark()
	passes := w.passes(composite, dynamic)
	w.Patch(trees, "dynamic", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	w.mustPasses(composite, dynamic, passes+1)
	w.WaitForQuiet()
	if writes := w.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Group == w.Group }); len(writes) > 0 {
		t.Errorf("a pass that changes nothing writes:\n%s", writes)
	}
}
