package kinds

import (
	"fmt"
	"testing"

	"github.com/libretto-k8s/libretto/test/cluster"
	"github.com/libretto-k8s/libretto/test/env"
)

// mustRest waits until nothing is written any more, and checks that it did not take many writes of ConfigMaps: without
// an end they were more than a hundred in each second.
func mustRest(e *env.Env, since cluster.Mark) {
	e.T.Helper()
	const most = 200
	e.WaitForQuiet()
	writes := e.Requests(since).Writes().Of("", "configmaps")
	e.T.Logf("%d writes of ConfigMaps", len(writes))
	if len(writes) > most {
		e.T.Errorf("%d writes of ConfigMaps, want no more than %d", len(writes), most)
	}
}

// Two definitions that select the same parents, and children of the same kind, delete what the other has made.
func TestTwoDefinitionsDeleteEachOthersChildren(t *testing.T) {
	e := env.NewRunning(t)
	making := func(name string) string {
		return env.Hooks(fmt.Sprintf(`export const sync = ({parent: {spec}}) => ({children: spec.off ? [] : [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: %q, labels: spec.selector.matchLabels}}]});`, name), "sync")
	}
	left := e.DefineReady(env.Composite, "-left", parentsAre(e, env.Composite, "both"), making("left"))
	right := e.DefineReady(env.Composite, "-right", parentsAre(e, env.Composite, "both"), making("right"))
	mark := e.Mark()
	e.ApplyThing("p", "set: both", "selector: {matchLabels: {thing: p}}")
	e.WaitForEvent("p", "HotLoop", "ConfigMap "+e.Namespace+"/", " is left alone for 1m0s", "each time CompositeController "+left)
	e.WaitForEvent("p", "HotLoop", "ConfigMap "+e.Namespace+"/", " is left alone for 1m0s", "each time CompositeController "+right)
	// It is told before it is a loop, of both names: on the parent, and on the definitions as long as both run.
	e.WaitForEvent("p", "SharedChildren", "CompositeController "+left+" and CompositeController "+right+" both claim ConfigMap "+e.Namespace+"/")
	e.WaitForEvent("p", "SharedChildren", "CompositeController "+right+" and CompositeController "+left+" both claim ConfigMap "+e.Namespace+"/")
	for _, name := range []string{left, right} {
		e.WaitForCondition(name, "Ready", "True", "SharedChildren", left, right, "Thing "+e.Namespace+"/p", "need different kinds of children")
		e.WaitForEvent(name, "SharedChildren", "CompositeController "+left, "CompositeController "+right)
	}
	mustRest(e, mark)
	// An edit of the parent is not held up.
	e.Patch(e.Things(), "p", `{"spec": {"off": true}}`)
	e.WaitForNames(env.ConfigMaps, "thing=p")
	e.Delete(env.CompositeControllers, "", right)
	e.WaitForCondition(left, "Ready", "True", "Running")
}

// A child whose name has the time in it is another one in each sync.
func TestNameWithTheTimeInIt(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Composite, "", parentsAre(e, env.Composite, "timed"), env.Hooks(`export const sync = ({parent: {spec}}) => ({children: [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: spec.name ?? "c-" + Date.now(), labels: spec.selector.matchLabels}}]});`, "sync"))
	mark := e.Mark()
	e.ApplyThing("p", "set: timed", "selector: {matchLabels: {thing: p}}")
	e.WaitForEvent("p", "HotLoop", "no ConfigMap is created or deleted for 1m0s", "such as ConfigMap "+e.Namespace+"/c-",
		" and then ConfigMap "+e.Namespace+"/c-")
	mustRest(e, mark)
	metrics := e.Metrics()
	if got := metrics.Sum("libretto_definition_hot_loops_total", map[string]string{"kind": env.Composite, "definition": name}); got < 1 {
		t.Errorf("%v hot loops are counted", got)
	}
	e.Patch(e.Things(), "p", `{"spec": {"name": "fixed"}}`)
	e.WaitForNames(env.ConfigMaps, "thing=p", "fixed")
}

// Many children that come and go with edits of their parent are no loop.
func TestManyChildrenAreNoLoop(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Composite, "", parentsAre(e, env.Composite, "many"), env.Hooks(`export const sync = ({parent: {spec}}) => ({children: Array.from({length: spec.count}, (_, i) => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "c-" + i, labels: spec.selector.matchLabels}}))});`, "sync"))
	e.ApplyThing("p", "set: many", "count: 0\nselector: {matchLabels: {thing: p}}")
	mark := e.Mark()
	for _, count := range []int{150, 0, 150, 20, 0} {
		e.Patch(e.Things(), "p", fmt.Sprintf(`{"spec": {"count": %d}}`, count))
		cluster.Eventually(t, 2*env.Timeout, func() error {
			if got := len(e.Names(env.ConfigMaps, "thing=p")); got != count {
				return fmt.Errorf("%d children, want %d", got, count)
			}
			return nil
		})
	}
	metrics := e.Metrics()
	if got := metrics.Sum("libretto_definition_hot_loops_total", map[string]string{"kind": env.Composite, "definition": name}); got != 0 {
		t.Errorf("%v hot loops are counted", got)
	}
	e.NoRequests(e.Requests(mark).Verbs("get").Of("", "configmaps"), "children are read that are in the cache")
}
