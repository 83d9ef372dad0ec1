package kinds

import (
	"errors"
	"fmt"
	"strings"
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
	// It is reported before it is a loop, of both names: on the parent, and on the definitions as long as both run.
	e.WaitForEvent("p", "SharedChildren", "CompositeController "+left+" and CompositeController "+right+" both claim ConfigMap "+e.Namespace+"/")
	e.WaitForEvent("p", "SharedChildren", "CompositeController "+right+" and CompositeController "+left+" both claim ConfigMap "+e.Namespace+"/")
	for _, name := range []string{left, right} {
		e.WaitForCondition(name, "Ready", "False", "HotLoop", "is left alone", left, right, "Thing "+e.Namespace+"/p", "need different kinds of children")
		e.WaitForEvent(name, "SharedChildren", "CompositeController "+left, "CompositeController "+right)
	}
	mustRest(e, mark)
	// An edit of the parent is not held up.
	e.Patch(e.Things(), "p", `{"spec": {"off": true}}`)
	e.WaitForNames(env.ConfigMaps, "thing=p")
	e.Delete(env.CompositeControllers, "", right)
	e.WaitForCondition(left, "Ready", "True", "Running")
}

// TestChildWantedInTurn has a hook that wants a child whenever it is not there: it comes and goes, and is soon left alone.
func TestChildWantedInTurn(t *testing.T) {
	e := env.NewRunning(t)
	for _, policy := range []string{"Delete", "Orphan"} {
		t.Run(policy, func(t *testing.T) {
			e, name := e.WithT(t), strings.ToLower(policy)
			e.DefineReady(env.Composite, "-"+name, e.Parent("things", name), "childResources: [{apiVersion: v1, resource: configmaps, deletionPolicy: "+policy+"}]",
				env.Hooks(`export const sync = ({parent: {metadata: {name}}, children}) => ({children: Object.keys(children["ConfigMap.v1"]).length ? [] : [
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name, labels: {app: name}}}]})`, "sync"))
			mark := e.Mark()
			e.ApplyThing(name, "set: "+name, "selector: {matchLabels: {app: "+name+"}}")
			e.WaitForEvent(name, "HotLoop")
			mustRest(e, mark)
		})
	}
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

// isSlowed waits until a definition says that a hot loop is slowed down, and checks that few of the requests since are writes of those objects.
func isSlowed(e *env.Env, name, kind string, since cluster.Mark, most int, is func(cluster.Request) bool, parts ...string) {
	e.T.Helper()
	e.WaitForConditionOf(kind, name, "Ready", "False", append([]string{"HotLoop"}, parts...)...)
	e.WaitForQuiet()
	writes := e.Requests(since).Writes().Filter(is)
	e.T.Logf("%d writes", len(writes))
	if len(writes) > most {
		e.T.Errorf("%d writes, want no more than %d", len(writes), most)
	}
}

func ofResource(resource string) func(cluster.Request) bool {
	return func(r cluster.Request) bool { return r.Resource == resource }
}

// Two decorators set one label differently.
func TestTwoDecoratorsSetOneLabel(t *testing.T) {
	e := env.NewRunning(t)
	setting := func(value string) string {
		return env.Hooks(fmt.Sprintf(`export const sync = ({object}) => ({labels: {color: object.spec.color ?? %q}});`, value), "sync")
	}
	red := e.DefineReady(env.Decorator, "-red", e.Targets("things", "both"), setting("red"))
	blue := e.DefineReady(env.Decorator, "-blue", e.Targets("things", "both"), setting("blue"))
	mark := e.Mark()
	e.ApplyThing("p", "set: both", "")
	e.WaitForEvent("p", "HotLoop", "what is set in the labels and annotations of Thing "+e.Namespace+"/p is left alone for 1m0s",
		"its field metadata.labels.color was set to", "10 times within 1m0s", "each time DecoratorController ", "let only one of them set it")
	cluster.Eventually(t, env.Timeout, func() error {
		for _, name := range []string{red, blue} {
			if c := e.ConditionOf(e.ClusterScope().Get(env.Definitions(env.Decorator), name), "Ready"); c.Reason == "HotLoop" {
				return env.CheckCondition(c, "False", "Thing "+e.Namespace+"/p")
			}
		}
		return errors.New("neither is said to be in a hot loop")
	})
	e.WaitForQuiet()
	writes := e.Requests(mark).Writes().Filter(ofResource("things"))
	if t.Logf("%d writes", len(writes)); len(writes) > 60 {
		t.Errorf("%d writes of the object", len(writes))
	}
	// An edit is not held up.
	e.Patch(e.Things(), "p", `{"spec": {"color": "green"}}`)
	e.WaitFor(e.Things(), "p", env.HasField("green", "metadata", "labels", "color"))
	for _, name := range []string{red, blue} {
		e.WaitForConditionOf(env.Decorator, name, "Ready", "True", "Running")
	}
}

// A decorator writes what its own write changes: an annotation of a Deployment counts in its generation.
func TestDecoratorFeedsItself(t *testing.T) {
	e := env.NewRunning(t)
	hook := func(value string) string {
		return env.Hooks(`export const sync = ({object}) => ({annotations: {generation: `+value+`}});`, "sync")
	}
	targets := `resources: [{apiVersion: apps/v1, resource: deployments, labelSelector: {matchLabels: {set: fed}}}]`
	name := e.DefineReady(env.Decorator, "", targets, hook("String(object.metadata.generation)"))
	mark := e.Mark()
	e.Apply(`{apiVersion: apps/v1, kind: Deployment, metadata: {name: fed, labels: {set: fed}},
		spec: {replicas: 0, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: i}]}}}}`)
	e.WaitForEvent("fed", "HotLoop", "Deployment "+e.Namespace+"/fed is left alone for 1m0s", "nothing had changed but what was just written",
		"metadata.annotations.generation was set to")
	isSlowed(e, name, env.Decorator, mark, 30, ofResource("deployments"), "Deployment "+e.Namespace+"/fed is left alone")
	// A better script is not held up, and the definition is well at once.
	e.DefineReady(env.Decorator, "", targets, hook(`"constant"`))
	e.WaitFor(env.Deployments, "fed", env.HasAnnotation("generation", "constant"))
	e.WaitForConditionOf(env.Decorator, name, "Ready", "True", "Running")
}

// A child has the time in its data, whatever its update method and however many there are.
func TestDataWithTheTimeInIt(t *testing.T) {
	e := env.NewRunning(t)
	for method, most := range map[string]int{"InPlace": 50, "Recreate": 160} {
		t.Run(method, func(t *testing.T) {
			e := e.WithT(t)
			name := e.DefineReady(env.Composite, "-"+strings.ToLower(method), "generateSelector: true", e.Parent("things", method),
				fmt.Sprintf("childResources: [{apiVersion: v1, resource: configmaps, updateStrategy: {method: %s}}]", method), env.Hooks(`
export const sync = ({parent: {metadata, spec}}) => ({children: ["x", "y"].map((n) => (
  {apiVersion: "v1", kind: "ConfigMap", metadata: {name: metadata.name + "-" + n}, data: {text: spec.text ?? String(Date.now())}}))});`, "sync"))
			parent := strings.ToLower(method)
			mark := e.Mark()
			e.ApplyThing(parent, "set: "+method, "")
			e.WaitForEvent(parent, "HotLoop", "ConfigMap "+e.Namespace+"/"+parent+"-", "is left alone for 1m0s", "its field data.text was set to")
			isSlowed(e, name, env.Composite, mark, most, ofResource("configmaps"))
			e.Patch(e.Things(), parent, `{"spec": {"text": "fixed"}}`)
			e.WaitFor(env.ConfigMaps, parent+"-x", env.HasText("fixed"))
			e.WaitFor(env.ConfigMaps, parent+"-y", env.HasText("fixed"))
			e.WaitForCondition(name, "Ready", "True", "Running")
		})
	}
}

// What others count, as fast as they can, is no loop, wherever the hook writes it.
func TestFastCounterIsNoLoop(t *testing.T) {
	e := env.NewRunning(t)
	name := e.DefineReady(env.Composite, "", "generateSelector: true", e.Parent("things", "counted"), env.UpdatedChildren, env.Hooks(`
const counted = (children) => Object.values(children["ConfigMap.v1"]).find(({metadata}) => metadata.name === "counter")?.data?.text;
export const sync = ({children}) => ({
  status: {said: counted(children)},
  children: [
    {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "counter"}},
    {apiVersion: "v1", kind: "ConfigMap", metadata: {name: "mirror"}, data: {text: counted(children) ?? "none"}},
  ]});`, "sync"))
	e.ApplyThing("p", "set: counted", "")
	e.WaitFor(env.ConfigMaps, "mirror", env.HasText("none"))
	for n := range 150 {
		e.Patch(env.ConfigMaps, "counter", fmt.Sprintf(`{"data": {"text": "%d"}}`, n))
	}
	e.WaitFor(env.ConfigMaps, "mirror", env.HasText("149"))
	e.WaitFor(e.Things(), "p", env.HasSaid("149"))
	if got := e.Metrics().Sum("libretto_definition_hot_loops_total", map[string]string{"kind": env.Composite, "definition": name}); got != 0 {
		t.Errorf("%v hot loops are counted", got)
	}
	e.WaitForCondition(name, "Ready", "True", "Running")
}
