package hosting

import (
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

const idleHook = `export const sync = () => ({children: []})`

// What a definition leaves behind of a kind that it no longer has is reported, until the next spec.
func TestChildResourceTakenOut(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", copies, childRule("InPlace"))
	applyThing(e, "a", "count: 2\ntext: one")
	e.WaitFor(env.ConfigMaps, "a-0", env.HasText("one"))
	e.WaitFor(env.ConfigMaps, "a-1", env.HasText("one"))
	e.WaitFor(e.Things(), "a", hasCount(2))

	const secretsOnly = "childResources: [{apiVersion: v1, resource: secrets, updateStrategy: {method: InPlace}}]"
	define(e, "", idleHook, secretsOnly)
	e.WaitForCondition(name, "Ready", "True", "ChildResourceRemoved", "configmaps", "there were 2 of them")
	e.WaitForEvent(name, "ChildResourceRemoved", "took configmaps out of childResources")
	e.WaitForQuiet()
	mark := e.Mark()
	e.Patch(e.Things(), "a", `{"metadata": {"annotations": {"touched": "yes"}}}`)
	e.WaitForQuiet()
	e.NoRequests(e.Requests(mark).Writes().Filter(func(r cluster.Request) bool { return r.Resource == env.CompositeControllers.Resource }),
		"a warning that stands is written again")
	if object := e.Get(env.ConfigMaps, "a-0"); object == nil {
		t.Error("what is left behind was deleted")
	}

	define(e, "", copies, childRule("InPlace"))
	e.WaitForCondition(name, "Ready", "True", "Running")
	e.Patch(e.Things(), "a", `{"spec": {"text": "two"}}`)
	e.WaitFor(env.ConfigMaps, "a-1", env.HasText("two"))
}

// An edit of the selector that leaves no parent abandons the children of all: that is not Ready, also after a restart, until there is a parent.
func TestSelectorThatLeavesParents(t *testing.T) {
	e := newEnv(t)
	selects := func(set string) string {
		return e.DefineReady(env.Decorator, "", e.Targets("things", set), "attachments: ["+env.UpdatedConfigMaps+"]", env.Hooks(attaching, "sync"))
	}
	name := selects("a")
	for _, thing := range []string{"a", "b"} {
		e.ApplyThing(thing, "set: "+thing, "")
	}
	e.WaitFor(env.ConfigMaps, "of-a", env.HasText("one"))

	messages := []string{"ParentsNotSelected", "does not select 1 of the things.", "in resources", "what was made for them stays"}
	e.Define(env.Decorator, "", e.Targets("things", "b"), "attachments: ["+env.UpdatedConfigMaps+"]", env.Hooks(attaching, "sync"))
	e.WaitFor(env.ConfigMaps, "of-b", env.HasText("one"))
	e.WaitForConditionOf(env.Decorator, name, "Ready", "True", messages...) // Another one is selected.

	e.Define(env.Decorator, "", e.Targets("things", "none"), "attachments: ["+env.UpdatedConfigMaps+"]", env.Hooks(attaching, "sync"))
	e.WaitForConditionOf(env.Decorator, name, "Ready", "False", messages...)
	e.WaitForEvent(name, "ParentsNotSelected", messages[1:]...)
	e.Restart()
	e.WaitForQuiet()
	e.WaitForConditionOf(env.Decorator, name, "Ready", "False", messages...)
	e.ApplyThing("c", "set: none", "") // The labels are as the selector wants them.
	e.WaitFor(env.ConfigMaps, "of-c", env.HasText("one"))
	e.WaitForConditionOf(env.Decorator, name, "Ready", "True")
}

const attaching = `
export const sync = ({object}) => ({attachments: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "of-" + object.metadata.name}, data: {text: "one"}},
]});`

// A rolling update of what has a status, and does not look at it, is reported and goes on.
func TestRollingWithoutStatusChecks(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", idleHook, "childResources: [{apiVersion: v1, resource: pods, updateStrategy: {method: RollingRecreate}}, {apiVersion: v1, resource: configmaps, updateStrategy: {method: RollingInPlace}}]")
	messages := e.WaitForCondition(name, "Ready", "True", "NoStatusChecks", "rolling update of pods", "statusChecks")
	e.WaitForEvent(name, "NoStatusChecks", "rolling update of pods")
	if err := env.CheckCondition(messages, "True", "configmaps"); err == nil {
		t.Errorf("what has no status is reported too: %s", messages.Message)
	}
}
