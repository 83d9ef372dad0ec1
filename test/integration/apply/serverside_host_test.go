package apply

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// define applies a definition of Things, and waits until it is ready. A Thing has one
// ConfigMap, <thing>-map, whose data is the given JSON and the Thing's spec.data. The rule of ConfigMaps may have more fields.
func define(e *env.Env, suffix, data, rule string) string {
	e.T.Helper()
	return e.DefineReady(env.Composite, "-"+suffix, "generateSelector: true", e.Parent("things", ""),
		"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}"+rule+"}]", env.Hooks(`export function sync({parent}) {
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-map"}, data: {...`+data+`, ...parent.spec.data}}]};
}`, "sync"))
}

func managerOf(definition string) string {
	return serverside.ManagerName("libretto", "composite", definition)
}

func applyData(e *env.Env, name, data string) {
	e.T.Helper()
	e.ApplyThing(name, "", "data: {"+data+"}")
}

// waitForData waits until a Thing's ConfigMap has such data.
func waitForData(e *env.Env, thing, data string) *unstructured.Unstructured {
	e.T.Helper()
	return e.WaitFor(env.ConfigMaps, thing+"-map", env.HasField(data, "data"))
}

// TestServerSideHost goes through the life of a child that a libretto applies, by the flag.
func TestServerSideHost(t *testing.T) {
	e := env.NewRunning(t, "--apply-strategy=server-side-apply")
	name := define(e, "one", `{a: "1"}`, "")
	applyData(e, "p", "x: '1'")
	live := waitForData(e, "p", "map[a:1 x:1]")
	if entryOf(live, managerOf(name), metav1.ManagedFieldsOperationApply) == nil || live.GetAnnotations()[merge.LastApplied] != "" {
		t.Errorf("it is not applied: %v", live.Object["metadata"])
	}
	applyData(e, "p", "q: '1'")
	live = waitForData(e, "p", "map[a:1 q:1]")
	// Another process finds nothing to write.
	e.WaitForQuiet()
	mark := e.Mark()
	e.Restart()
	e.WaitForReconciles(name, 0, 1)
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes().Of("", "configmaps"), "after a restart with nothing to do")
	// What was changed is set again.
	e.Patch(env.ConfigMaps, "p-map", `{"data": {"a": "theirs", "b": "theirs"}}`)
	waitForData(e, "p", "map[a:1 b:theirs q:1]")
	// To dynamic apply and back.
	define(e, "one", `{a: "1"}`, ", applyStrategy: DynamicApply")
	e.WaitFor(env.ConfigMaps, "p-map", func(live *unstructured.Unstructured) error {
		if entryOf(live, managerOf(name), metav1.ManagedFieldsOperationApply) != nil || live.GetAnnotations()[merge.LastApplied] == "" {
			return fmt.Errorf("not taken back: %v", live.Object["metadata"])
		}
		return nil
	})
	applyData(e, "p", "z: '1'")
	waitForData(e, "p", "map[a:1 b:theirs z:1]")
	define(e, "one", `{a: "1"}`, "")
	e.WaitFor(env.ConfigMaps, "p-map", func(live *unstructured.Unstructured) error {
		if entryOf(live, managerOf(name), metav1.ManagedFieldsOperationApply) == nil || live.GetAnnotations()[merge.LastApplied] != "" {
			return fmt.Errorf("not taken over: %v", live.Object["metadata"])
		}
		return nil
	})
	applyData(e, "p", "w: '1'")
	if now := waitForData(e, "p", "map[a:1 b:theirs w:1]"); now.GetUID() != live.GetUID() {
		t.Error("it is another object")
	}
}

// TestServerSideFight shows that two definitions that want different values of one field
// are stopped, and that the parent tells of it.
func TestServerSideFight(t *testing.T) {
	e := env.NewRunning(t)
	define(e, "one", `{shared: "one", one: "1"}`, ", applyStrategy: ServerSideApply")
	define(e, "other", `{shared: "other", other: "1"}`, ", applyStrategy: ServerSideApply")
	applyData(e, "p", "")
	e.WaitForEvent("p", "HotLoop", "p-map is left alone", "its field data.shared", `"one"`, `"other"`, "libretto/composite/"+e.Namespace)
	e.WaitForQuiet()
	data := e.Get(env.ConfigMaps, "p-map").Object["data"].(map[string]any)
	if len(data) != 3 || data["one"] != "1" || data["other"] != "1" {
		t.Errorf("data is %v", data)
	}
}

// TestServerSideStandoff shows that a field that is not to be taken from somebody is reported
// of, and not asked for again and again.
func TestServerSideStandoff(t *testing.T) {
	e := env.NewRunning(t)
	define(e, "one", `{a: "1"}`, ", applyStrategy: ServerSideApply, forceConflicts: false")
	applyData(e, "p", "")
	waitForData(e, "p", "map[a:1]")
	e.Apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-map, namespace: %s}\ndata: {a: theirs}", e.Namespace))
	e.WaitForEvent("p", "SyncError", "FieldConflict", "p-map is left as it is", cluster.FieldManager+" holds data.a")
	mark := e.Mark()
	for n := range 10 {
		e.Patch(env.ConfigMaps, "p-map", fmt.Sprintf(`{"metadata": {"labels": {"n": "%d"}}}`, n))
	}
	e.WaitForQuiet()
	if asked := e.Requests(mark).Of("", "configmaps").Verbs("patch"); len(asked) > 1 {
		t.Errorf("%d requests for a field that somebody holds:\n%s", len(asked), asked)
	}
	waitForData(e, "p", "map[a:theirs]")
	// Another wish is asked for at once.
	define(e, "one", `{b: "1"}`, ", applyStrategy: ServerSideApply, forceConflicts: false")
	waitForData(e, "p", "map[a:theirs b:1]")
}
