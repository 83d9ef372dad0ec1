package latency

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// often is the interval of another writer's changes of a child, and less that of changes of a parent.
const (
	often = 100 * time.Millisecond
	less  = 200 * time.Millisecond
)

// texts are hooks that want ConfigMaps with texts, as spec.texts says, and that go without further ado.
const texts = `
export function sync({parent}) {
  return {
    status: {said: parent.spec.said || ""},
    children: Object.entries(parent.spec.texts || {}).map(([name, text]) => ({
      apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {thing: parent.metadata.name}}, data: {text},
    })),
  };
}
export const finalize = () => ({children: [], finalized: true});`

// children is a definition's rule for ConfigMaps.
func children(strategy, method string) string {
	return fmt.Sprintf("childResources: [{apiVersion: v1, resource: configmaps, applyStrategy: %s, updateStrategy: {method: %s}}]", strategy,
		method)
}

// text checks what a ConfigMap holds, and that it is not on its way out.
func text(want string) func(*unstructured.Unstructured) error {
	return func(o *unstructured.Unstructured) error {
		if o == nil || o.GetDeletionTimestamp() != nil {
			return fmt.Errorf("there is no child with %q", want)
		}
		if got, _, _ := unstructured.NestedString(o.Object, "data", "text"); got != want {
			return fmt.Errorf("the child holds %q, want %q", got, want)
		}
		return nil
	}
}

// absent checks that an object is not there.
func absent(o *unstructured.Unstructured) error {
	if o != nil {
		return fmt.Errorf("%s is still there, with finalizers %q", o.GetName(), o.GetFinalizers())
	}
	return nil
}

// hasBeat checks that a child has the annotation of the other writer.
func hasBeat(o *unstructured.Unstructured) error {
	if o == nil || o.GetAnnotations()["beat"] == "" {
		return errors.New("the child has no annotation of the other writer")
	}
	return nil
}

// A child that another writer changes all the time still follows its hook.
func TestBusyChild(t *testing.T) {
	const other = `{"metadata": {"annotations": {"beat": "%d"}}}`
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		for name, more := range map[string]string{
			"dynamic":     children("DynamicApply", "InPlace"),
			"server-side": children("ServerSideApply", "InPlace"),
			"recreate":    children("DynamicApply", "Recreate"),
		} {
			t.Run(name, func(t *testing.T) {
				e := &delayedEnv{e.WithT(t), e.proxy}
				definition := e.define("-"+name, texts, []string{"sync"}, more)
				e.applyThing(name, fmt.Sprintf(`texts: {%[1]s-a: "1", %[1]s-b: "1"}`, name))
				for _, child := range []string{name + "-a", name + "-b"} {
					e.eventually(env.ConfigMaps, child, text("1"))
					e.keepPatching(env.ConfigMaps, child, often, other)
				}
				e.eventually(env.ConfigMaps, name+"-a", hasBeat)
				e.Patch(e.Things(), name, fmt.Sprintf(`{"spec": {"texts": {%q: "2", %q: null}}}`, name+"-a", name+"-b"))
				e.eventually(env.ConfigMaps, name+"-a", text("2"))
				e.eventually(env.ConfigMaps, name+"-b", absent)
				if name == "dynamic" {
					if err := hasBeat(e.Get(env.ConfigMaps, name+"-a")); err != nil {
						t.Error(err)
					}
				}
				e.Delete(e.Things(), e.Namespace, name)
				e.Delete(env.CompositeControllers, "", definition)
				e.WaitForEvent(definition, "Stopped")
			})
		}
	})
}

// Objects that another writer changes all the time are adopted, updated and released.
func TestBusyChildIsAdoptedAndReleased(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		e.define("", texts, []string{"sync"}, children("DynamicApply", "InPlace"))
		e.Apply(`{apiVersion: v1, kind: ConfigMap, metadata: {name: orphan, labels: {thing: adopter}}, data: {other: "1"}}`)
		e.keepPatching(env.ConfigMaps, "orphan", often, `{"data": {"beat": "%d"}}`)
		parent := e.applyThing("adopter", `texts: {orphan: "1"}`)
		e.eventually(env.ConfigMaps, "orphan", func(o *unstructured.Unstructured) error {
			return errors.Join(env.OwnedBy(parent)(o), text("1")(o))
		})
		e.Patch(env.ConfigMaps, "orphan", `{"metadata": {"labels": {"thing": "nobody"}}}`)
		e.eventually(env.ConfigMaps, "orphan", env.OwnedBy(nil))
	})
}

// A parent whose status another writer changes all the time gets its finalizer, and loses it.
func TestBusyParent(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		e.applyThing("busy", "said: one")
		e.keepPatching(e.Things(), "busy", less, `{"status": {"beat": %d}}`, "status")
		e.define("", texts, []string{"sync", "finalize"}, children("DynamicApply", "InPlace"))
		finalizer := finalizerOf(e.Namespace)
		e.eventually(e.Things(), "busy", env.HasFinalizer(finalizer, true))
		e.Delete(e.Things(), e.Namespace, "busy")
		e.eventually(e.Things(), "busy", absent)
	})
}

// A map's status, which counts inputs and outputs, gets through to a parent whose status another writer changes all
// the time, and both stay.
func TestBusyMapStatus(t *testing.T) {
	eachLag(t, func(t *testing.T, lag time.Duration) {
		e := newEnv(t, lag)
		e.Apply(env.CRD(e.Group, "Gizmo", "Namespaced"))
		e.applyThing("busy", "")
		e.keepPatching(e.Things(), "busy", less, `{"status": {"beat": %d}}`, "status")
		e.Apply(fmt.Sprintf(`
apiVersion: metacontroller.k8s.io/v1alpha1
kind: MapController
metadata: {name: %[1]s}
spec:
  parentResource: {apiVersion: %[2]s/v1, resource: things}
  inputResources: [{apiVersion: %[2]s/v1, resource: gizmos}]
  outputResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}]
  hooks:
    map: {script: {engine: JavaScript, inline: "export const map = () => ({outputs: []})"}}`, e.Namespace, e.Group))
		t.Cleanup(func() {
			e.Delete(env.CompositeControllers.GroupVersion().WithResource("mapcontrollers"), "", e.Namespace)
		})
		counts := func(want int64) {
			t.Helper()
			e.eventually(e.Things(), "busy", func(o *unstructured.Unstructured) error {
				inputs, _, _ := unstructured.NestedInt64(o.Object, "status", "inputs", "gizmos", "total")
				if _, beats, _ := unstructured.NestedInt64(o.Object, "status", "beat"); inputs != want || !beats {
					return fmt.Errorf("the status is %v, want %d inputs and what somebody else keeps there", o.Object["status"], want)
				}
				return nil
			})
		}
		for n := range int64(3) {
			e.Apply(fmt.Sprintf("{apiVersion: %s/v1, kind: Gizmo, metadata: {name: g%d, labels: {thing: busy}}}", e.Group, n))
			counts(n + 1)
		}
	})
}
