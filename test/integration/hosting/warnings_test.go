package hosting

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

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
	e.WaitForCondition(name, "Ready", "True", "ChildResourceRemoved", "configmaps", "looked after 2 of them")
	event := e.WaitForEvent(name, "ChildResourceRemoved", "took configmaps out of childResources", "such as ConfigMap "+e.Namespace+"/a-0")
	checkLeft(e, event.Message, "a-0", "a-1")
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

// checkLeft checks that the command that a message has for what is left lists these objects of the namespace.
func checkLeft(e *env.Env, message string, want ...string) {
	e.T.Helper()
	_, command, _ := strings.Cut(message, "delete them by hand; ")
	command, is := strings.CutSuffix(command, " lists them")
	if !is {
		e.T.Fatalf("no command in %q", message)
	}
	kubectl, err := cluster.Binary("kubectl")
	e.NoError(err)
	shell := exec.CommandContext(e.T.Context(), "sh", "-c", command)
	shell.Env = append(os.Environ(), "KUBECONFIG="+e.Cluster.Kubeconfig, fmt.Sprintf("PATH=%s:%s", filepath.Dir(kubectl), os.Getenv("PATH")))
	listed, err := shell.Output()
	e.NoError(err)
	var got []string
	for line := range strings.Lines(string(listed)) {
		if fields := strings.Fields(line); fields[0] == e.Namespace { // Other tests have Things, too.
			got = append(got, fields[1])
		}
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		e.T.Errorf("%s lists %q, want %q", command, got, want)
	}
}

// What a decorator attached is left behind, and reported, in the same way. A kind of which nothing is left is not.
func TestAttachmentsTakenOut(t *testing.T) {
	e := newEnv(t)
	attachments := func(hook string, rules ...string) string {
		return e.DefineReady(env.Decorator, "", e.Targets("things", "a"), "attachments: ["+strings.Join(rules, ", ")+"]", env.Hooks(hook, "sync"))
	}
	const secrets, accounts = "{apiVersion: v1, resource: secrets}", "{apiVersion: v1, resource: serviceaccounts}"
	name := attachments(attaching, env.UpdatedConfigMaps, secrets)
	e.ApplyThing("a", "set: a", "")
	e.WaitFor(env.ConfigMaps, "of-a", env.HasText("one"))
	attachments(`export const sync = () => ({attachments: []})`, accounts)
	message := e.WaitForEvent(name, "ChildResourceRemoved", "took configmaps out of attachments", "looked after 1 of them, such as ConfigMap "+e.Namespace+"/of-a").Message
	checkLeft(e, message, "of-a")
	ready := e.WaitForConditionOf(env.Decorator, name, "Ready", "True", "ChildResourceRemoved")
	if ready.Message != message {
		t.Errorf("Ready says %q, want %q alone", ready.Message, message)
	}
	e.WaitForQuiet()
	if e.Get(env.ConfigMaps, "of-a") == nil {
		t.Error("what is left behind was deleted")
	}
}

// A kind that moves to another version leaves nothing behind: its children are updated as before.
func TestVersionOfChildren(t *testing.T) {
	e := newEnv(t)
	scalers := schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	version := func(version string, replicas int) string {
		hook := fmt.Sprintf(`export const sync = () => ({children: [{apiVersion: "autoscaling/%s", kind: "HorizontalPodAutoscaler", metadata: {name: "a"},
  spec: {maxReplicas: %d, scaleTargetRef: {apiVersion: "apps/v1", kind: "Deployment", name: "a"}}}]})`, version, replicas)
		rule := "childResources: [{apiVersion: autoscaling/" + version + ", resource: horizontalpodautoscalers, updateStrategy: {method: InPlace}}]"
		return e.DefineReady(env.Composite, "", e.Parent("things", ""), "generateSelector: true", rule, env.Hooks(hook, "sync"))
	}
	name := version("v1", 3)
	e.ApplyThing("a", "", "")
	before := e.WaitFor(scalers, "a", env.HasField(int64(3), "spec", "maxReplicas"))
	version("v2", 5)
	after := e.WaitFor(scalers, "a", env.HasField(int64(5), "spec", "maxReplicas"))
	if before.GetUID() != after.GetUID() {
		t.Error("the child was created anew")
	}
	e.WaitForCondition(name, "Ready", "True", "Running")
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
