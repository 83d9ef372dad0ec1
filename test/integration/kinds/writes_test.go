package kinds

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// TestFinalizeAndRefusedStatus checks that a status that the CustomResourceDefinition refuses does not hold a parent that is finalized, and
// is reported.
func TestFinalizeAndRefusedStatus(t *testing.T) {
	e := env.NewRunning(t)
	crd := e.Parse(env.CRD(e.Group, "Strict", "Namespaced"))
	version := crd.Object["spec"].(map[string]any)["versions"].([]any)[0].(map[string]any)
	text := map[string]any{"type": "string"}
	e.NoError(unstructured.SetNestedMap(version, map[string]any{
		"type": "object", "required": []any{"phase"}, "properties": map[string]any{"phase": text, "note": text},
	}, "schema", "openAPIV3Schema", "properties", "status"))
	e.ApplyObject(crd)
	script := `export const sync = () => ({status: {phase: "up"}, CHILDREN: []});
export const finalize = () => ({status: {note: "down"}, CHILDREN: [], finalized: true});`
	for _, kind := range []string{env.Composite, env.Decorator} {
		set := strings.ToLower(kind[:1])
		spec := e.Parent("stricts", set) + "\n" + env.UpdatedChildren
		if kind == env.Decorator {
			spec = e.Targets("stricts", set) + "\n" + attachments
		}
		name := e.DefineReady(kind, "-"+set, spec, env.Hooks(scriptFor(kind, script), "sync", "finalize"))
		e.ApplyCustom("Strict", set, "set: "+set, "selector: {matchLabels: {thing: none}}")
		parent := e.WaitFor(e.Resource("Strict"), set, env.HasField("up", "status", "phase"))
		e.WaitFor(e.Resource("Strict"), set, env.HasFinalizer(finalizerOf(kind, name), true))
		e.Delete(e.Resource("Strict"), e.Namespace, set)
		e.WaitForDeletion(e.Resource("Strict"), set, parent.GetUID())
		e.WaitForEvent(set, "SyncError", "status.phase", "is let go all the same")
	}
}

// TestRecreateWithoutRightToCreate checks that no child is deleted to be made again by a host that may not create it, and that a
// right that is granted later is noticed.
func TestRecreateWithoutRightToCreate(t *testing.T) {
	e := env.NewRunning(t)
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		set := strings.ToLower(strategy[:1])
		e.DefineReady(env.Composite, "-"+set, "applyStrategy: "+strategy, e.Parent("things", set),
			"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: Recreate}}]", env.Hooks(making, "sync"))
		e.ApplyThing(set, "set: "+set, "text: one\nselector: {matchLabels: {thing: "+set+"}}")
		e.WaitFor(env.ConfigMaps, set, env.HasText("one"))
	}
	e.WaitForQuiet()
	user := e.NewUser("host")
	user.Grant("", "*", "*", "get", "list", "watch", "update", "patch", "delete")
	user.Grant("", "", "events", "create")
	e.Kill()
	e.Start("--kubeconfig", user.Kubeconfig())
	mark, before := e.Mark(), e.List(env.ConfigMaps, "thing")
	for set := range before {
		e.Patch(e.Things(), set, `{"spec": {"text": "two"}}`)
		e.WaitForEvent(set, "SyncError", "it differs, and is not deleted", "may not create configmaps in the namespace "+e.Namespace)
	}
	e.NoRequests(e.Requests(mark).Verbs("delete").Of("", "configmaps"), "children are deleted that can't be created again")
	user.Grant(e.Namespace, "", "configmaps", "create")
	for set, child := range before {
		e.WaitForDeletion(env.ConfigMaps, set, child.GetUID())
		e.WaitFor(env.ConfigMaps, set, env.HasText("two"))
	}
}

// making makes a ConfigMap with the parent's text.
const making = `export const sync = ({parent: {metadata: {name}, spec}}) => ({status: {text: spec.text}, children: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {thing: name}}, data: {text: spec.text}}]});`

// TestWritesOfContendedObjects has another writer change an annotation without a pause: of a child that is to be updated, and of
// a parent whose status is to be written. No write waits for it to stop.
func TestWritesOfContendedObjects(t *testing.T) {
	e := env.NewRunning(t)
	for _, strategy := range []string{"DynamicApply", "ServerSideApply"} {
		set := strings.ToLower(strategy[:1])
		e.DefineReady(env.Composite, "-"+set, "applyStrategy: "+strategy, e.Parent("things", set), env.UpdatedChildren, env.Hooks(making, "sync"))
		e.ApplyThing(set, "set: "+set, "text: one\nselector: {matchLabels: {thing: "+set+"}}")
		e.WaitFor(env.ConfigMaps, set, env.HasText("one"))
		e.WaitFor(e.Things(), set, env.HasField("one", "status", "text"))
		for _, contended := range []schema.GroupVersionResource{env.ConfigMaps, e.Things()} {
			t.Run(strategy+"/"+contended.Resource, func(t *testing.T) {
				e, want := e.WithT(t), contended.Resource
				stop := writeWithoutPause(e, contended, set)
				mark := e.Mark()
				e.Patch(e.Things(), set, fmt.Sprintf(`{"spec": {"text": %q}}`, want))
				e.WaitFor(env.ConfigMaps, set, env.HasText(want))
				e.WaitFor(e.Things(), set, env.HasField(want, "status", "text"))
				t.Logf("the other writer has written %d times", stop())
				writes := e.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Name == set && r.Resource == contended.Resource })
				refused := writes.Filter(func(r cluster.Request) bool { return !succeeded(r) })
				t.Logf("%d of %d writes of it were refused:\n%s", len(refused), len(writes), writes)
				if strategy == "DynamicApply" && contended == env.ConfigMaps && len(refused) > 2 {
					t.Errorf("%d updates of a child were refused before one was not, want at most 2:\n%s", len(refused), writes)
				}
			})
		}
	}
}

// writeWithoutPause changes an annotation of an object until the returned function is called, which returns how often.
func writeWithoutPause(e *env.Env, resource schema.GroupVersionResource, name string) (stop func() int) {
	ctx, cancel := context.WithCancel(e.T.Context())
	written := make(chan int)
	go func() {
		n := 0
		for ; ctx.Err() == nil; n++ {
			patch := fmt.Sprintf(`{"metadata": {"annotations": {"written": "%d"}}}`, n)
			_, err := e.In(resource).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
			if err != nil && ctx.Err() == nil {
				e.T.Error(err)
			}
		}
		written <- n
	}()
	return func() int { cancel(); return <-written }
}

// TestEditOfAppliedChildren edits a definition whose children are applied by the API server: the preview applies the change, too, to children of
// which the host knows what it has applied itself.
func TestEditOfAppliedChildren(t *testing.T) {
	e := env.NewRunning(t)
	define := func(text string) {
		e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", "applied"),
			"childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}, applyStrategy: ServerSideApply}]",
			env.Hooks(`export const sync = ({parent}) => ({children: [{apiVersion: "v1", kind: "ConfigMap", metadata: {name: parent.metadata.name}, data: {text: "`+text+`"}}]})`, "sync"))
	}
	define("one")
	e.ApplyThing("p", "set: applied", "")
	e.WaitFor(env.ConfigMaps, "p", env.HasText("one"))
	e.WaitForQuiet()
	define("two")
	e.WaitFor(env.ConfigMaps, "p", env.HasText("two"))
}
