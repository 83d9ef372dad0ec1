package apply

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/apply/merge"
	"github.com/libretto-k8s/libretto/apply/serverside"
	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/world"
)

// house is a libretto with parents of a kind of their own.
type house struct{ *world.World }

func newHouse(t *testing.T, flags ...string) house {
	t.Helper()
	h := house{world.New(t)}
	if err := h.Cluster.Apply(t.Context(), h.Namespace, h.Parse(world.CRD(h.Group, "House", "Namespaced"))); err != nil {
		t.Fatal(err)
	}
	h.Start(flags...)
	return h
}

// define makes a definition whose parents have one ConfigMap, parent-map, with data in
// JSON. The rule may say more.
func (h house) define(name, data, rule string) {
	h.T.Helper()
	hook := `export function sync({parent}) {
  return {children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-map"}, data: {...` + data + `, ...parent.spec}}]};
}`
	h.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec: {
  parentResource: {apiVersion: %[2]s/v1, resource: houses}, generateSelector: true,
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}%[3]s}],
  hooks: {sync: {version: v2, script: {engine: JavaScript, inline: %[4]s}}}}
`, h.named(name), h.Group, rule, world.Quote(hook)))
	h.MustCondition(h.named(name), "Ready", "True")
}

func (h house) named(definition string) string { return h.Namespace + "-" + definition }

func (h house) manager(definition string) string {
	return serverside.ManagerName("libretto", "composite", h.named(definition))
}

func (h house) parent(name, spec string) {
	h.T.Helper()
	h.Apply(fmt.Sprintf("apiVersion: %s/v1\nkind: House\nmetadata: {name: %s}\nspec: {%s}", h.Group, name, spec))
}

// mustHave waits until a parent's ConfigMap has such data.
func (h house) mustHave(parent, data string) *unstructured.Unstructured {
	h.T.Helper()
	return h.Must(world.ConfigMaps, parent+"-map", func(live *unstructured.Unstructured) error {
		if got := value(live, "data"); got != data {
			return fmt.Errorf("data is %s, want %s", got, data)
		}
		return nil
	})
}

// TestServerSideHost goes through the life of a child that a libretto applies, by the flag.
func TestServerSideHost(t *testing.T) {
	h := newHouse(t, "--apply-strategy=server-side-apply")
	h.define("one", `{a: "1"}`, "")
	h.parent("p", "x: '1'")
	live := h.mustHave("p", "map[a:1 x:1]")
	if entryOf(live, h.manager("one"), metav1.ManagedFieldsOperationApply) == nil || live.GetAnnotations()[merge.LastApplied] != "" {
		t.Errorf("it is not applied: %v", live.Object["metadata"])
	}
	h.parent("p", "q: '1'")
	live = h.mustHave("p", "map[a:1 q:1]")
	// Another process finds nothing to write.
	h.Settled()
	mark := h.Mark()
	h.Restart()
	h.MustPass(h.named("one"), 0, 1)
	h.Settled()
	if writes := h.Requests(mark).Writes().Of("", "configmaps"); len(writes) > 0 {
		t.Errorf("after a restart with nothing to do:\n%s", writes)
	}
	// What was changed is set again.
	h.Patch(world.ConfigMaps, "p-map", `{"data": {"a": "theirs", "b": "theirs"}}`)
	h.mustHave("p", "map[a:1 b:theirs q:1]")
	// To dynamic apply and back.
	h.define("one", `{a: "1"}`, ", applyStrategy: DynamicApply")
	h.Must(world.ConfigMaps, "p-map", func(live *unstructured.Unstructured) error {
		if entryOf(live, h.manager("one"), metav1.ManagedFieldsOperationApply) != nil || live.GetAnnotations()[merge.LastApplied] == "" {
			return fmt.Errorf("not taken back: %v", live.Object["metadata"])
		}
		return nil
	})
	h.parent("p", "z: '1'")
	h.mustHave("p", "map[a:1 b:theirs z:1]")
	h.define("one", `{a: "1"}`, "")
	h.Must(world.ConfigMaps, "p-map", func(live *unstructured.Unstructured) error {
		if entryOf(live, h.manager("one"), metav1.ManagedFieldsOperationApply) == nil || live.GetAnnotations()[merge.LastApplied] != "" {
			return fmt.Errorf("not taken over: %v", live.Object["metadata"])
		}
		return nil
	})
	h.parent("p", "w: '1'")
	if now := h.mustHave("p", "map[a:1 b:theirs w:1]"); now.GetUID() != live.GetUID() {
		t.Error("it is another object")
	}
}

// TestServerSideFight shows that two definitions that want different values of one field
// are stopped, and that the parent tells of it.
func TestServerSideFight(t *testing.T) {
	h := newHouse(t)
	h.define("one", `{shared: "one", one: "1"}`, ", applyStrategy: ServerSideApply")
	h.define("other", `{shared: "other", other: "1"}`, ", applyStrategy: ServerSideApply")
	h.parent("p", "")
	h.MustEvent("p", "HotLoop", "p-map is left alone", "its field data.shared", `"one"`, `"other"`, "libretto/composite/"+h.Namespace)
	h.Settled()
	data := h.Get(world.ConfigMaps, "p-map").Object["data"].(map[string]any)
	if len(data) != 3 || data["one"] != "1" || data["other"] != "1" {
		t.Errorf("data is %v", data)
	}
}

// TestServerSideStandoff shows that a field that is not to be taken from somebody is told
// of, and not asked for again and again.
func TestServerSideStandoff(t *testing.T) {
	h := newHouse(t)
	h.define("one", `{a: "1"}`, ", applyStrategy: ServerSideApply, forceConflicts: false")
	h.parent("p", "")
	h.mustHave("p", "map[a:1]")
	h.Apply(fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: p-map, namespace: %s}\ndata: {a: theirs}", h.Namespace))
	h.MustEvent("p", "SyncError", "FieldConflict", "p-map is left as it is", cluster.FieldManager+" holds data.a")
	mark := h.Mark()
	for n := range 10 {
		h.Patch(world.ConfigMaps, "p-map", fmt.Sprintf(`{"metadata": {"labels": {"n": "%d"}}}`, n))
	}
	h.Settled()
	if asked := h.Requests(mark).Of("", "configmaps").Verbs("patch"); len(asked) > 1 {
		t.Errorf("%d requests for a field that somebody holds:\n%s", len(asked), asked)
	}
	h.mustHave("p", "map[a:theirs]")
	// Another wish is asked for at once.
	h.define("one", `{b: "1"}`, ", applyStrategy: ServerSideApply, forceConflicts: false")
	h.mustHave("p", "map[a:theirs b:1]")
}
