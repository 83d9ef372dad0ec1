package hosting

import (
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const idleHook = `export const sync = () => ({children: []})`

// What a definition leaves behind of a kind that it no longer has is told, until the next spec.
func TestChildResourceTakenOut(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", copies, childRule("InPlace"))
	w.thing("a", "count: 2\ntext: one")
	w.WaitFor(env.ConfigMaps, "a-0", hasText("one"))
	w.WaitFor(env.ConfigMaps, "a-1", hasText("one"))
	w.WaitFor(w.things, "a", hasCount(2))

	const secretsOnly = "childResources: [{apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}]"
	w.definition("", idleHook, secretsOnly)
	w.WaitForCondition(name, "Ready", "True", "ChildResourceRemoved", "configmaps", "there were 2 of them")
	w.WaitForEvent(name, "ChildResourceRemoved", "took configmaps out of childResources")
	w.WaitForQuiet()
	mark := w.Mark()
	w.Patch(w.things, "a", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	w.WaitForQuiet()
	if writes := w.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Resource == env.CompositeControllers.Resource }); len(writes) > 0 {
		t.Errorf("a warning that stands is written again:\n%s", writes)
	}
	if object := w.Get(env.ConfigMaps, "a-0"); object == nil {
		t.Error("what is left behind was deleted")
	}

	w.definition("", copies, childRule("InPlace"))
	w.WaitForCondition(name, "Ready", "True", "Running")
	w.Patch(w.things, "a", `{"spec": {"text": "two"}}`)
	w.WaitFor(env.ConfigMaps, "a-1", hasText("two"))
}

// A rolling update of what has a status, and does not look at it, is told and goes on.
func TestRollingWithoutStatusChecks(t *testing.T) {
	w := newWorld(t)
	name := w.definition("", idleHook, "childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}, {apiVersion: v1, resource: configmaps, updateStrategy: {method: RollingInPlace}}]")
	told := w.WaitForCondition(name, "Ready", "True", "NoStatusChecks", "rolling update of pods", "statusChecks")
	w.WaitForEvent(name, "NoStatusChecks", "rolling update of pods")
	if err := env.CheckCondition(told, "True", "configmaps"); err == nil {
		t.Errorf("what has no status is told too: %s", told.Message)
	}
}
