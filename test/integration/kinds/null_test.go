package kinds

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"

	"github.com/libretto-k8s/libretto/test/env"
)

// TestNullInChildren checks that a null of a hook means the same when a child is created and when it is updated: it is stored
// where the schema allows it, and means that the field is absent where it does not.
func TestNullInChildren(t *testing.T) {
	e := env.NewWithThings(t)
	crd := e.Parse(env.CRD(e.Group, "Leaf", "Namespaced"))
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	e.NoError(unstructured.SetNestedMap(version, map[string]any{"type": "object", "properties": map[string]any{
		"mode":  map[string]any{"type": "string", "nullable": true, "default": "x"},
		"plain": map[string]any{"type": "string", "default": "y"},
	}}, "schema", "openAPIV3Schema", "properties", "spec"))
	e.ApplyObject(crd)
	waitForSchema(e, "nullable")
	e.Start()
	leaves := e.Resource("Leaf")
	script := fmt.Sprintf(`export const sync = ({parent: {metadata: {name}, spec}}) => ({children: [
  {apiVersion: %q, kind: "Leaf", metadata: {name, labels: {thing: name}}, spec: JSON.parse(spec.leaf)}]});`, e.Group+"/v1")
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		set := strings.ToLower(strategy[:1])
		e.DefineReady(env.Composite, "-"+set, "applyStrategy: "+strategy, e.Parent("things", set),
			"childResources: ["+strings.TrimSuffix(e.Rule("leafs", ""), "}")+", updateStrategy: {method: InPlace}}]", env.Hooks(script, "sync"))
		for _, step := range []struct{ leaf, want string }{
			{`{"mode": null, "plain": null}`, "map[mode:<nil> plain:y]"},
			{`{"mode": "a", "plain": "b"}`, "map[mode:a plain:b]"},
			{`{"mode": null, "plain": null}`, "map[mode:<nil> plain:y]"},
			{`{"mode": "a"}`, "map[mode:a plain:y]"},
			{`{}`, "map[mode:x plain:y]"},
			{`{"mode": null}`, "map[mode:<nil> plain:y]"},
		} {
			e.ApplyThing(set, "set: "+set, "leaf: "+env.Quote(step.leaf)+"\nselector: {matchLabels: {thing: "+set+"}}")
			e.WaitFor(leaves, set, env.HasField(step.want, "spec"))
		}
		e.WaitForQuiet()
		mark := e.Mark()
		e.Patch(e.Things(), set, `{"metadata": {"annotations": {"touched": "1"}}}`)
		e.WaitForQuiet()
		e.NoRequests(e.Requests(mark).Writes().Of(e.Group, leaves.Resource), "null is written again and again")
		e.Delete(e.Things(), e.Namespace, set)
	}
}

// waitForSchema waits until the API server's schema of the test's group has a text.
func waitForSchema(e *env.Env, text string) {
	e.T.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(e.Cluster.Config)
	e.NoError(err)
	e.Eventually(func() error {
		paths, err := client.OpenAPIV3().Paths()
		if err != nil || paths["apis/"+e.Group+"/v1"] == nil {
			return fmt.Errorf("no schema of the group %s (%v)", e.Group, err)
		}
		document, err := paths["apis/"+e.Group+"/v1"].Schema("application/json")
		if !strings.Contains(string(document), text) {
			return fmt.Errorf("no %s in the schema of the group %s (%v)", text, e.Group, err)
		}
		return nil
	})
}
