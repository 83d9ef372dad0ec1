package hosting

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/env"
)

// copies makes spec.count ConfigMaps <thing>-<n> with spec.text, and says so in the status.
const copies = `
export function sync({parent, children}) {
  const name = parent.metadata.name;
  const wanted = Array.from({length: parent.spec.count}, (_, n) => ({
    apiVersion: "v1", kind: "ConfigMap",
    metadata: {name: name + "-" + n, labels: {thing: name}},
    data: {text: parent.spec.text},
  }));
  return {status: {count: Object.keys(children["ConfigMap.v1"]).length}, children: wanted};
}`

func childRule(method string) string {
	if method == "" {
		return "childResources: [{apiVersion: v1, resource: configmaps}]"
	}
	return fmt.Sprintf("childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: %s}}]", method)
}

// hasCount checks status.count, of the present generation.
func hasCount(want int64) env.Check {
	return func(o *unstructured.Unstructured) error {
		return errors.Join(env.HasField(want, "status", "count")(o), env.IsObserved(o))
	}
}

func TestChildrenFollowTheHook(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Ready", "True")
	applyThing(e, "a", "count: 3\ntext: one")
	child := e.WaitFor(env.ConfigMaps, "a-2", env.HasText("one"))
	owner := metav1.GetControllerOf(child)
	if owner == nil || owner.Kind != "Thing" || owner.Name != "a" || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("owner %v, want Thing a, controlling and blocking", owner)
	}
	e.WaitFor(e.Things(), "a", hasCount(3))

	e.Patch(e.Things(), "a", `{"spec": {"count": 1}}`)
	e.WaitForDeletion(env.ConfigMaps, "a-1", "")
	e.WaitForDeletion(env.ConfigMaps, "a-2", "")
	e.WaitFor(e.Things(), "a", hasCount(1))

	kept := e.Get(env.ConfigMaps, "a-0")
	e.Delete(env.ConfigMaps, e.Namespace, "a-0")
	e.WaitForDeletion(env.ConfigMaps, "a-0", kept.GetUID())
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
}

func TestUpdateMethods(t *testing.T) {
	cases := map[string]struct {
		method   string
		replaced bool
		updated  bool
	}{
		"InPlace":  {method: "InPlace", updated: true},
		"Recreate": {method: "Recreate", updated: true, replaced: true},
		"OnDelete": {method: "OnDelete"},
		"Absent":   {method: ""},
	}
	e := newEnv(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := e.WithT(t)
			definition := define(e, "-"+strings.ToLower(name), copies, childRule(tc.method)+"\ngenerateSelector: false")
			e.WaitForCondition(definition, "Ready", "True")
			thing := "m" + strings.ToLower(name)
			applyThing(e, thing, "count: 1\ntext: old")
			before := e.WaitFor(env.ConfigMaps, thing+"-0", env.HasText("old"))
			e.WaitFor(e.Things(), thing, hasCount(1))
			e.Patch(e.Things(), thing, `{"spec": {"text": "new"}}`)
			if !tc.updated {
				e.WaitFor(e.Things(), thing, hasCount(1)) // of the new generation: the pass is over
				e.WaitFor(env.ConfigMaps, thing+"-0", env.HasText("old"))
			} else {
				after := e.WaitFor(env.ConfigMaps, thing+"-0", env.HasText("new"))
				if replaced := after.GetUID() != before.GetUID(); replaced != tc.replaced {
					t.Errorf("replaced: %v, want %v", replaced, tc.replaced)
				}
			}
			e.Delete(e.Things(), e.Namespace, thing)
			e.WaitForDeletion(env.ConfigMaps, thing+"-0", "")
			e.Delete(env.CompositeControllers, "", definition)
			e.WaitForEvent(definition, "Stopped") // The Things of the next case are its own too until then.
		})
	}
}

func TestOthersFieldsSurvive(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	e.Patch(env.ConfigMaps, "a-0", `{"data": {"other": "writer"}, "metadata": {"annotations": {"other": "writer"}}}`)
	e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
	child := e.WaitFor(env.ConfigMaps, "a-0", env.HasText("two"))
	if err := errors.Join(env.HasField("writer", "data", "other")(child), env.HasAnnotation("other", "writer")(child)); err != nil {
		t.Errorf("what another writer added is gone: %v", err)
	}
	e.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "drifted"}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("two"))
}

func TestAdoptAndRelease(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	e.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a-0, labels: {thing: a}}, data: {text: found}}`)
	orphan := e.Get(env.ConfigMaps, "a-0")
	applyThing(e, "a", "count: 1\ntext: one")
	adopted := e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	if adopted.GetUID() != orphan.GetUID() || metav1.GetControllerOf(adopted) == nil {
		t.Errorf("%v was not adopted as it is", adopted.Object)
	}

	// An orphan that comes later finds its parent too, which does not want it.
	e.WaitFor(e.Things(), "a", hasCount(1))
	e.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: stray, labels: {thing: a}}}`)
	e.WaitForDeletion(env.ConfigMaps, "stray", "")

	// A child that no longer matches is let go, and another is made: here its name is taken, which is reported.
	e.Patch(env.ConfigMaps, "a-0", `{"metadata": {"labels": {"thing": "nobody"}}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.OwnedBy(nil))
	e.WaitForEvent("a", "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/a-0", "do not match the parent's selector")
	// The way out that the event names works.
	e.Patch(env.ConfigMaps, "a-0", `{"metadata": {"labels": {"thing": "a"}}}`)
	e.WaitFor(env.ConfigMaps, "a-0", env.OwnedBy(e.Get(e.Things(), "a")))
}

// labelled returns a child that always matches the selector, with its value in its name.
const labelled = `
export const sync = ({parent: {metadata, spec: {selector: {matchLabels}}}}) => ({children: [0, 1].map(i => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name + "-" + matchLabels.thing + "-" + i, labels: matchLabels}}
))});`

// An edit of the selector leaves the children of before behind: they are not deleted, which is reported once.
func TestSelectorThatLeavesChildren(t *testing.T) {
	e := newEnv(t)
	define(e, "", labelled, childRule("InPlace"))
	applyThing(e, "a", "count: 1")
	e.WaitFor(env.ConfigMaps, "a-a-1", env.OwnedBy(e.Get(e.Things(), "a")))
	e.Patch(e.Things(), "a", `{"spec": {"selector": {"matchLabels": {"thing": "b"}}}}`)
	e.WaitFor(env.ConfigMaps, "a-b-1", env.OwnedBy(e.Get(e.Things(), "a")))
	e.WaitFor(env.ConfigMaps, "a-a-0", env.OwnedBy(nil))
	e.WaitForEvent("a", "ReleasedChildren", "Released 2 ConfigMaps: a-a-0, a-a-1: ", "selector thing=b: correct the selector or the labels")

	// One that is handed over later is reported with them.
	e.Patch(env.ConfigMaps, "a-b-0", `{"metadata": {"labels": {"thing": "other"}}}`)
	e.WaitFor(env.ConfigMaps, "a-b-0", env.OwnedBy(nil))
	e.WaitForQuiet()
	if messages := eventsOf(e, "a", "ReleasedChildren"); len(messages) != 1 || messages[0].Object["count"] != int64(1) {
		t.Errorf("events %v, want one", messages)
	}
	// The way out that the event names works.
	e.Patch(env.ConfigMaps, "a-a-0", `{"metadata": {"labels": {"thing": "b"}}}`)
	e.Eventually(func() error {
		if list := messagesOf(e, "Deleted"); !strings.Contains(strings.Join(list, "\n"), "a-a-0") {
			return fmt.Errorf("what matches again is not adopted: %s", list)
		}
		return nil
	})
}

func TestSomebodyElsesObject(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	e.Apply("{apiVersion: v1, kind: Secret, metadata: {name: some}}")
	other := e.Get(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "some")
	e.Apply(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: a-0
  labels: {thing: a}
  ownerReferences: [{apiVersion: v1, kind: Secret, name: some, uid: %s, controller: true}]
data: {text: theirs}`, other.GetUID()))
	applyThing(e, "a", "count: 1\ntext: ours")
	e.WaitForEvent("a", "SyncError", "AlreadyOwned: ConfigMap "+e.Namespace+"/a-0", "belongs to Secret some")
	if err := env.HasText("theirs")(e.Get(env.ConfigMaps, "a-0")); err != nil {
		t.Error(err)
	}
}

func TestGeneratedSelector(t *testing.T) {
	e := newEnv(t)
	define(e, "", `
export const sync = ({parent}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-only"}}]});`,
		childRule("InPlace")+"\ngenerateSelector: true")
	e.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: a}, spec: {}}`, e.Group))
	child := e.WaitFor(env.ConfigMaps, "a-only", nil)
	parent := e.Get(e.Things(), "a")
	if got := child.GetLabels()["controller-uid"]; got != string(parent.GetUID()) {
		t.Errorf("label controller-uid %q, want the parent's UID %s", got, parent.GetUID())
	}
}

func TestManyChildrenAreCreatedOnce(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	mark := e.Mark()
	applyThing(e, "a", "count: 60\ntext: one")
	e.WaitFor(e.Things(), "a", hasCount(60))
	e.WaitForQuiet()
	creations := e.Requests(mark).Verbs("create").Of("", "configmaps")
	if len(creations) != 60 {
		t.Errorf("%d requests to create 60 children:\n%s", len(creations), creations)
	}
	if statuses := e.Requests(mark).Of(e.Group, "things").Writes(); len(statuses) > 10 {
		t.Errorf("%d writes of the status on the way:\n%s", len(statuses), statuses)
	}
}

func TestClusterScopedBuiltInParent(t *testing.T) {
	e := newEnv(t)
	e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: CompositeController
metadata: {name: %[1]s}
spec:
  parentResource: {apiVersion: v1, resource: namespaces, labelSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}}
  childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  generateSelector: true
  hooks:
    sync:
      script:
        engine: JavaScript
        inline: |
          export function sync({parent, children}) {
            const found = Object.keys(children["ConfigMap.v1"]);
            return {status: parent.status, children: [
              {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "made", namespace: parent.metadata.name}, data: {text: found.join()}}]};
          }
`, e.Namespace))
	e.WaitFor(env.ConfigMaps, "made", env.HasText(e.Namespace+"/made"))
	e.ClusterScope().WaitFor(env.Namespaces, e.Namespace, env.HasField("Active", "status", "phase"))
}

func TestDeletingParentIsLeftToTheGarbageCollector(t *testing.T) {
	e := newEnv(t)
	define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 1\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	e.Patch(e.Things(), "a", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	e.WaitFor(e.Things(), "a", hasCount(1))
	e.Delete(e.Things(), e.Namespace, "a")
	e.Patch(e.Things(), "a", `{"spec": {"count": 2}}`)
	e.WaitFor(e.Things(), "a", hasCount(1)) // The status is still written, of the new generation.
	if e.Get(env.ConfigMaps, "a-1") != nil {
		t.Error("a child was created for a parent that is being deleted")
	}
	e.Patch(e.Things(), "a", `{"metadata": {"finalizers": null}}`)
	e.WaitForDeletion(env.ConfigMaps, "a-0", "")
}

func TestStatusThatTheSchemaPrunes(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", `export const sync = () => ({status: {count: 1, unknown: "dropped"}, children: []});`, childRule(""))
	applyThing(e, "a", "")
	e.WaitFor(e.Things(), "a", hasCount(1))
	waitForParents(e, name, 1)
	e.WaitForQuiet()
	mark, before := e.Mark(), e.Reconciles(name, "success")
	for n := range 5 {
		e.Patch(e.Things(), "a", fmt.Sprintf(`{"metadata": {"annotations": {"n": "%d"}}}`, n))
		e.WaitForReconciles(name, before, float64(n+1))
	}
	e.NoRequests(e.Requests(mark).Writes(), "a status that the schema prunes is written again and again")
}

func TestResyncs(t *testing.T) {
	e := newEnv(t)
	period := define(e, "-period", `export const sync = () => ({children: []});`, "resyncPeriodSeconds: 1")
	applyThing(e, "a", "")
	e.WaitForReconciles(period, 0, 4)
	e.Delete(env.CompositeControllers, "", period)

	after := define(e, "-after", `export const sync = () => ({children: [], resyncAfterSeconds: 0.2});`, "resyncPeriodSeconds: 3600")
	e.WaitForReconciles(after, 0, 6)
	e.WaitForNoMetric("libretto_definition_reconcile_total", map[string]string{"kind": "CompositeController", "definition": period})
}
