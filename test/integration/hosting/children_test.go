package hosting

import (
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/libretto-k8s/libretto/test/cluster"
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

func hasText(want string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(o.Object, "data", "text"); got != want {
			return fmt.Errorf("text %q, want %q", got, want)
		}
		return nil
	}
}

func hasCount(want int64) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		count, _, _ := unstructured.NestedInt64(o.Object, "status", "count")
		observed, _, _ := unstructured.NestedInt64(o.Object, "status", "observedGeneration")
		if count != want || observed != o.GetGeneration() {
			return fmt.Errorf("status.count %d of generation %d, want %d of %d", count, observed, want, o.GetGeneration())
		}
		return nil
	}
}

func TestChildrenFollowTheHook(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, childRule("InPlace"))
	w.WaitForCondition(name, "Ready", "True")
	w.thing("a", "count: 3\ntext: one")
	child := w.WaitFor(env.ConfigMaps, "a-2", hasText("one"))
	owner := metav1.GetControllerOf(child)
	if owner == nil || owner.Kind != "Thing" || owner.Name != "a" || owner.BlockOwnerDeletion == nil || !*owner.BlockOwnerDeletion {
		t.Errorf("owner %v, want Thing a, controlling and blocking", owner)
	}
	w.WaitFor(w.things, "a", hasCount(3))

	w.Patch(w.things, "a", `{"spec": {"count": 1}}`)
	w.WaitForDeletion(env.ConfigMaps, "a-1", "")
	w.WaitForDeletion(env.ConfigMaps, "a-2", "")
	w.WaitFor(w.things, "a", hasCount(1))

	kept := w.Get(env.ConfigMaps, "a-0")
	w.Delete(env.ConfigMaps, w.Namespace, "a-0")
	w.WaitForDeletion(env.ConfigMaps, "a-0", kept.GetUID())
	w.WaitFor(env.ConfigMaps, "a-0", hasText("one"))
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
	w := newWorld(t)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			definition := w.definition("-"+toLower(name), copies, childRule(tc.method)+"\ngenerateSelector: false")
			w.WaitForCondition(definition, "Ready", "True")
			thing := "m" + toLower(name)
			w.thing(thing, "count: 1\ntext: old")
			before := w.WaitFor(env.ConfigMaps, thing+"-0", hasText("old"))
			w.WaitFor(w.things, thing, hasCount(1))
			w.Patch(w.things, thing, `{"spec": {"text": "new"}}`)
			if !tc.updated {
				w.WaitFor(w.things, thing, hasCount(1)) // of the new generation: the pass is over
				w.WaitFor(env.ConfigMaps, thing+"-0", hasText("old"))
			} else {
				after := w.WaitFor(env.ConfigMaps, thing+"-0", hasText("new"))
				if replaced := after.GetUID() != before.GetUID(); replaced != tc.replaced {
					t.Errorf("replaced: %v, want %v", replaced, tc.replaced)
				}
			}
			w.Delete(w.things, w.Namespace, thing)
			w.WaitForDeletion(env.ConfigMaps, thing+"-0", "")
			w.Delete(env.CompositeControllers, "", definition)
			w.WaitForEvent(definition, "Stopped") // The Things of the next case are its own too until then.
		})
	}
}

func TestOthersFieldsSurvive(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.thing("a", "count: 1\ntext: one")
	w.WaitFor(env.ConfigMaps, "a-0", hasText("one"))
	w.Patch(env.ConfigMaps, "a-0", `{"data": {"other": "writer"}, "metadata": {"annotations": {"other": "writer"}}}`)
	w.Patch(w.things, "a", `{"spec": {"text": "two"}}`)
	child := w.WaitFor(env.ConfigMaps, "a-0", hasText("two"))
	if got, _, _ := unstructured.NestedString(child.Object, "data", "other"); got != "writer" || child.GetAnnotations()["other"] != "writer" {
		t.Errorf("what another writer added is gone: %v", child.Object)
	}
	w.Patch(env.ConfigMaps, "a-0", `{"data": {"text": "drifted"}}`)
	w.WaitFor(env.ConfigMaps, "a-0", hasText("two"))
}

func TestAdoptAndRelease(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: a-0, labels: {thing: a}}, data: {text: found}}`)
	orphan := w.Get(env.ConfigMaps, "a-0")
	w.thing("a", "count: 1\ntext: one")
	adopted := w.WaitFor(env.ConfigMaps, "a-0", hasText("one"))
	if adopted.GetUID() != orphan.GetUID() || metav1.GetControllerOf(adopted) == nil {
		t.Errorf("%v was not adopted as it is", adopted.Object)
	}

	// An orphan that comes later finds its parent too, which does not want it.
	w.WaitFor(w.things, "a", hasCount(1))
	w.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: stray, labels: {thing: a}}}`)
	w.WaitForDeletion(env.ConfigMaps, "stray", "")

	// A child that no longer matches is let go, and another is made: here its name is taken, which is told.
	w.Patch(env.ConfigMaps, "a-0", `{"metadata": {"labels": {"thing": "nobody"}}}`)
	w.WaitFor(env.ConfigMaps, "a-0", func(o *unstructured.Unstructured) error {
		if metav1.GetControllerOf(o) != nil {
			return fmt.Errorf("still owned")
		}
		return nil
	})
	w.WaitForEvent("a", "AlreadyOwned", "ConfigMap "+w.Namespace+"/a-0", "do not match the parent's selector")
	// The way out that the event names works.
	w.Patch(env.ConfigMaps, "a-0", `{"metadata": {"labels": {"thing": "a"}}}`)
	w.WaitFor(env.ConfigMaps, "a-0", func(o *unstructured.Unstructured) error {
		if metav1.GetControllerOf(o) == nil {
			return fmt.Errorf("not owned")
		}
		return nil
	})
}

func TestSomebodyElsesObject(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.Apply("{apiVersion: v1, kind: Secret, metadata: {name: some}}")
	other := w.Get(schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, "some")
	w.Apply(fmt.Sprintf(`
apiVersion: v1
kind: ConfigMap
metadata:
  name: a-0
  labels: {thing: a}
  ownerReferences: [{apiVersion: v1, kind: Secret, name: some, uid: %s, controller: true}]
data: {text: theirs}`, other.GetUID()))
	w.thing("a", "count: 1\ntext: ours")
	w.WaitForEvent("a", "AlreadyOwned", "ConfigMap "+w.Namespace+"/a-0", "belongs to Secret some")
	w.WaitForEvent("a", "SyncError", "AlreadyOwned")
	if err := hasText("theirs")(w.Get(env.ConfigMaps, "a-0")); err != nil {
		t.Error(err)
	}
}

func TestGeneratedSelector(t *testing.T) {
	w := newWorld(t)
	w.definition("", `
export const sync = ({parent}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name + "-only"}}]});`,
		childRule("InPlace")+"\ngenerateSelector: true")
	w.Apply(fmt.Sprintf(`{apiVersion: %s/v1, kind: Thing, metadata: {name: a}, spec: {}}`, w.Group))
	child := w.WaitFor(env.ConfigMaps, "a-only", nil)
	parent := w.Get(w.things, "a")
	if got := child.GetLabels()["controller-uid"]; got != string(parent.GetUID()) {
		t.Errorf("label controller-uid %q, want the parent's UID %s", got, parent.GetUID())
	}
}

func TestManyChildrenAreCreatedOnce(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	mark := w.Mark()
	w.thing("a", "count: 60\ntext: one")
	w.WaitFor(w.things, "a", hasCount(60))
	w.WaitForQuiet()
	creations := w.Requests(mark).Verbs("create").Of("", "configmaps")
	if len(creations) != 60 {
		t.Errorf("%d requests to create 60 children:\n%s", len(creations), creations)
	}
	if statuses := w.Requests(mark).Of(w.Group, "things").Writes(); len(statuses) > 10 {
		t.Errorf("%d writes of the status on the way:\n%s", len(statuses), statuses)
	}
}

func TestClusterScopedBuiltInParent(t *testing.T) {
	w := newWorld(t)
	w.Apply(fmt.Sprintf(`
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
`, w.Namespace))
	w.WaitFor(env.ConfigMaps, "made", hasText(w.Namespace+"/made"))
	if events, err := w.Cluster.Kubectl(t.Context(), "get", "namespace", w.Namespace, "-o", "jsonpath={.status.phase}"); err != nil || events != "Active" {
		t.Errorf("namespace is %q (%v)", events, err)
	}
}

func TestDeletingParentIsLeftToTheGarbageCollector(t *testing.T) {
	w := newWorld(t)
	w.definition("", copies, childRule("InPlace"))
	w.thing("a", "count: 1\ntext: one")
	w.WaitFor(env.ConfigMaps, "a-0", hasText("one"))
	w.Patch(w.things, "a", `{"metadata": {"finalizers": ["example.com/hold"]}}`)
	w.WaitFor(w.things, "a", hasCount(1))
	w.Delete(w.things, w.Namespace, "a")
	w.Patch(w.things, "a", `{"spec": {"count": 2}}`)
	w.WaitFor(w.things, "a", hasCount(1)) // The status is still written, of the new generation.
	if w.Get(env.ConfigMaps, "a-1") != nil {
		t.Error("a child was created for a parent that is being deleted")
	}
	w.Patch(w.things, "a", `{"metadata": {"finalizers": null}}`)
	w.WaitForDeletion(env.ConfigMaps, "a-0", "")
}

func TestStatusThatTheSchemaPrunes(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", `export const sync = () => ({status: {count: 1, unknown: "dropped"}, children: []});`, childRule(""))
	w.thing("a", "")
	w.WaitFor(w.things, "a", hasCount(1))
	w.mustCountParents(name, 1)
	w.WaitForQuiet()
	mark, before := w.Mark(), w.Reconciles(name, "success")
	for n := range 5 {
		w.Patch(w.things, "a", fmt.Sprintf(`{"metadata": {"annotations": {"n": "%d"}}}`, n))
		w.WaitForReconciles(name, before, float64(n+1))
	}
	if writes := w.Requests(mark).Writes(); len(writes) > 0 {
		t.Errorf("a status that the schema prunes is written again and again:\n%s", writes)
	}
}

func TestResyncs(t *testing.T) {
	w := newWorld(t)
	period := w.definition("-period", `export const sync = () => ({children: []});`, "resyncPeriodSeconds: 1")
	w.thing("a", "")
	w.WaitForReconciles(period, 0, 4)
	w.Delete(env.CompositeControllers, "", period)

	after := w.definition("-after", `export const sync = () => ({children: [], resyncAfterSeconds: 0.2});`, "resyncPeriodSeconds: 3600")
	w.WaitForReconciles(after, 0, 6)
	cluster.Eventually(t, env.Timeout, func() error {
		metrics, err := w.Libretto().Metrics(t.Context())
		if err != nil {
			return err
		}
		if left := metrics.Sum("libretto_reconcile_total", map[string]string{"controller": "CompositeController-" + period}); left != 0 {
			return fmt.Errorf("%v passes of a definition that is gone are still told", left)
		}
		return nil
	})
}
