package kinds

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/libretto-k8s/libretto/test/env"
)

// hasKstatus returns the check that kstatus, and the condition Ready with its reason, are as wanted.
func hasKstatus(e *env.Env, want, ready, reason string) env.Check {
	return func(object *unstructured.Unstructured) error {
		c := e.ConditionOf(object, "Ready")
		if got := fmt.Sprint(e.Kstatus(object), c.Status, c.Reason); got != fmt.Sprint(want, ready, reason) {
			return fmt.Errorf("it is %s, with Ready %s (%s: %s), want %s, %s (%s)", e.Kstatus(object), c.Status, c.Reason, c.Message, want, ready, reason)
		}
		return nil
	}
}

// TestSyncConditions has the host write the conditions of a parent, whose child is ready, or not, or refused, and whose hook fails.
func TestSyncConditions(t *testing.T) {
	e := env.NewRunning(t)
	const hook = `export function sync({parent: {metadata, spec}}) {
  if (spec.fail) throw new Error("no such shape")
  const child = {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name, labels: {set: "child"}}, data: {text: spec.text ?? "one"}}
  const thing = {apiVersion: parentVersion, kind: "Thing", metadata: {name: metadata.name + "-child", labels: {set: "child"}}, spec: {}}
  if (spec.refused) child.data.text = {}
  return {children: [child, thing], status: {said: "hello", ...spec.status}}
}
`
	name := e.DefineReady(env.Composite, "", "generateSelector: true",
		fmt.Sprintf("parentResource: {apiVersion: %s/v1, resource: things, labelSelector: {matchLabels: {set: synced}}, statusConditions: Sync}", e.Group),
		fmt.Sprintf("childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: InPlace}}, {apiVersion: %s/v1, resource: things}]", e.Group),
		env.Hooks(fmt.Sprintf("const parentVersion = %q\n", e.Group+"/v1")+hook, "sync"))
	mark := e.Mark()
	e.ApplyThing("p", "set: synced", "")
	e.WaitFor(e.Things(), "p", hasKstatus(e, "Current", "True", "ParentSynced"))
	e.WaitForQuiet()
	if writes := statuses(e, mark); len(writes) > 2 {
		t.Errorf("%d writes of the status, want 2 at most, as the children are written first:\n%s", len(writes), writes)
	}
	before := e.ConditionOf(e.Get(e.Things(), "p"), "Ready")

	t.Run("child", func(t *testing.T) {
		e := e.WithT(t)
		e.Patch(e.Things(), "p-child", `{"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Starting"}]}}`, "status")
		e.WaitFor(e.Things(), "p", hasKstatus(e, "InProgress", "False", "ChildrenNotReady"))
		e.Patch(e.Things(), "p-child", `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, "status")
		e.WaitFor(e.Things(), "p", hasKstatus(e, "Current", "True", "ParentSynced"))
		e.WaitForQuiet()
	})
	t.Run("failure", func(t *testing.T) {
		e, mark := e.WithT(t), e.Mark()
		e.Patch(e.Things(), "p", `{"spec": {"fail": true}}`)
		e.WaitFor(e.Things(), "p", hasKstatus(e, "Failed", "False", "SyncFailed"))
		e.WaitForQuiet()
		thing := e.Get(e.Things(), "p")
		if err := env.HasSaid("hello")(thing); err != nil {
			t.Errorf("the rest of the status is lost: %v", err)
		}
		if c := e.ConditionOf(thing, "Stalled"); c.ObservedGeneration != thing.GetGeneration() {
			t.Errorf("%+v is of another generation than %d", c, thing.GetGeneration())
		}
		if writes := statuses(e, mark); len(writes) > 1 {
			t.Errorf("a hook that fails again writes the status again:\n%s", writes)
		}
		e.Patch(e.Things(), "p", `{"spec": {"fail": null, "refused": true}}`)
		e.WaitFor(e.Things(), "p", hasKstatus(e, "Failed", "False", "SyncFailed"))
		e.Patch(e.Things(), "p", `{"spec": {"refused": null}}`)
		e.WaitFor(e.Things(), "p", hasKstatus(e, "Current", "True", "ParentSynced"))
	})
	t.Run("own", func(t *testing.T) {
		e := e.WithT(t)
		e.Patch(e.Things(), "p", `{"spec": {"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "Mine"}]}}}`)
		e.WaitFor(e.Things(), "p", hasKstatus(e, "InProgress", "False", "Mine"))
		e.Patch(e.Things(), "p", `{"spec": {"status": null}}`)
		e.WaitFor(e.Things(), "p", hasKstatus(e, "Current", "True", "ParentSynced"))
	})
	e.WaitForCondition(name, "Ready", "True", "Running")
	if after := e.ConditionOf(e.Get(e.Things(), "p"), "Ready"); !after.LastTransitionTime.After(before.LastTransitionTime.Time) && after.LastTransitionTime != before.LastTransitionTime {
		t.Errorf("the transition time goes back from %s to %s", before.LastTransitionTime, after.LastTransitionTime)
	}
}
