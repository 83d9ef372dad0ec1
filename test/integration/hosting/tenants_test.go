package hosting

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// counting makes a text that is as long as a parent wants, which ends the worker at once if that is too much.
const counting = `export const sync = ({parent}) => ({children: [], status: {count: "0123456789".repeat(parent.spec.replicas * 100).length / 1000}});`

// An object that costs workers is not called for a while, which an event on the object itself reports. After an edit of the
// script it is called at once.
func TestObjectThatEndsItsWorkers(t *testing.T) {
	e := newEnv(t)
	name := define(e, "", counting, "")
	applyThing(e, "a", "replicas: 2000000000")
	e.WaitForEvent("a", "SyncError", "sync hook: not called until ", "for this object", "correct the object")
	e.WaitForCondition(name, "Ready", "True", "Running")
	define(e, "", `export const sync = () => ({children: [], status: {count: 7}});`, "")
	e.WaitFor(e.Things(), "a", hasCount(7))
}

// What the objects of one tenant do to workers delays none of another tenant, however often the first one
// edits them.
func TestTenantThatEndsWorkers(t *testing.T) {
	e := newEnv(t, "--script-workers=2")
	b := e.InNamespace(e.Namespace + "-b")
	e.Apply(fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", b.Namespace))
	name := define(e, "", counting, "")
	hostile := []string{"x", "y", "z"}
	for _, object := range hostile {
		applyThing(e, object, "replicas: 2000000000")
	}
	for _, object := range hostile {
		e.WaitForEvent(object, "SyncError", "sync hook: ")
	}
	for n := range 20 {
		for _, object := range hostile {
			e.Patch(e.Things(), object, fmt.Sprintf(`{"spec": {"replicas": %d}}`, 2000000000+n))
		}
		applyThing(b, "good", fmt.Sprintf("replicas: %d", n))
		b.WaitFor(e.Things(), "good", hasCount(int64(n)))
	}
	for _, object := range hostile {
		e.WaitForEvent(object, "SyncError", "not called until ")
	}
	e.WaitForCondition(name, "Ready", "True", "Running")
	for n := range 8 { // New ones are no better than those before.
		applyThing(e, fmt.Sprint("new-", n), "replicas: 2000000000")
		applyThing(b, "good", fmt.Sprintf("replicas: %d", 100+n))
		b.WaitFor(e.Things(), "good", hasCount(int64(100+n)))
	}
	// The tenant's own ones take turns: this one waits for each of the others once, at worst.
	applyThing(e, "honest", "replicas: 5")
	cluster.Eventually(t, 6*env.Timeout, func() error { return hasCount(5)(e.Get(e.Things(), "honest")) })
}
